"""The field table of one type of object: its fields, and the shapes, columns, parameters and filters derived from
them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db.models import F, Model, OrderBy, Q

from context_protection.core.cached_property import cached_property
from context_protection.core.fields import Field
from context_protection.core.names import fold_name
from context_protection.core.query.columns import QueryColumn, QueryColumns
from context_protection.core.query.empty import GivenFilter
from context_protection.core.shapes import Section, Shape
from context_protection.orm.querysets import Columns
from gateway.connectors.hostaway.fields import AMOUNT, Filter, ResourceField
from gateway.connectors.hostaway.models import UpstreamObject

# Columns that every object has; the store fills them.
COMMON_COLUMNS = frozenset(each.name for each in UpstreamObject._meta.local_fields)


@dataclass(frozen=True, eq=False)
class FieldTable:
    """All declarations of one type of Hostaway object. Rows, previews and parameters have the order of `fields`.

    `examples` are those of the list's `where` and `aggregate`. `created` and `updated` name upstream's fields with the
    creation and change times; the first valid time is used. `left_out_of_lists` names fields, at any depth, that only
    single records show. `aliases` and `section_aliases` are other names that `fields` accepts. Raises
    ImproperlyConfigured if the fields do not match the model's columns, if two of them share a name or a parameter, or
    if a field with a filter has no column."""

    name: str
    model: type[UpstreamObject]
    list_description: str
    record_description: str
    fields: tuple[ResourceField, ...]
    sections: tuple[Section, ...]
    examples: Mapping[str, Any]
    left_out_of_lists: tuple[str, ...] = ()
    aliases: tuple[Field, ...] = ()
    section_aliases: Mapping[str, str] = field(default_factory=dict)
    created: tuple[str, ...] = ("insertedOn",)
    updated: tuple[str, ...] = ("updatedOn",)

    def __post_init__(self) -> None:
        stored = {each.column for each in self.fields if each.column}
        columns = {each.name for each in self.model._meta.concrete_fields}
        self._require("columns that the model does not have", stored - columns)
        self._require("columns of the model without a field", columns - stored - COMMON_COLUMNS)
        self._require("fields declared twice", _repeated(each.name for each in self.fields))
        self._require("parameters declared twice", _repeated(self._filtered_by))
        self._require("filters on fields without a column", {each.name for each, _ in self._filters if not each.column})

    def _require(self, what: str, names: set[str]) -> None:
        if names:
            raise ImproperlyConfigured(f"The field table of {self.name}s has {what}: {', '.join(sorted(names))}.")

    # -- What lists and records show ----------------------------------------------------------------

    @cached_property
    def shape(self) -> Shape:
        return Shape(
            name=self.name,
            row=tuple(map(_shown, self._row)),
            preview=tuple(_shown(each) for each in self.fields if each.preview),
            others=tuple(_shown(each) for each in self.fields if each.path != each.name),
            aliases=self.aliases,
            section_aliases=self.section_aliases,
            sections=self.sections,
            withheld_in_lists=self.left_out_of_lists,
            is_canonical=True,
        )

    @cached_property
    def columns(self) -> Columns:
        return Columns(
            row={each.name: each.column for each in self._row},
            convert={each.name: each.type.shown for each in self._row if each.type and each.type.shown},
        )

    @cached_property
    def query_columns(self) -> QueryColumns:
        """The declared columns of queries. Queries can also use any other of upstream's field names."""
        return QueryColumns(tuple(each.query_column() for each in self.fields if each.type), self.shape)

    @property
    def _row(self) -> list[ResourceField]:
        return [each for each in self.fields if each.in_row]

    # -- How lists are filtered and sorted ----------------------------------------------------------

    @cached_property
    def orders(self) -> Mapping[str, str]:
        """Maps the canonical names of sortable fields to their columns."""
        return {each.name: each.column for each in self.fields if each.column}

    @cached_property
    def order_names(self) -> Mapping[str, str]:
        """Maps other names of sortable fields to their canonical names: upstream's names, and the aliases that `fields`
        accepts."""
        by_path = {each.path: each.name for each in self.fields if each.column}
        others = {each.name: by_path[each.path] for each in self.aliases if not each.convert and each.path in by_path}
        known = {fold_name(each.name) for each in self.fields}
        return {fold_name(name): to for name, to in {**by_path, **others}.items() if fold_name(name) not in known}

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """JSON Schemas of the list's parameters."""
        filters = {wanted.parameter: each.parameter(wanted) for each, wanted in self._filters}
        return {**filters, "order": order_parameter(self.orders)}

    @cached_property
    def parameter_aliases(self) -> Mapping[str, tuple[str, ...]]:
        """Maps upstream's name of a field to the parameter that compares the field."""
        return {
            fold_name(each.source): (wanted.parameter,)
            for each, wanted in self._filters
            if each.source and wanted.lookup == "exact"
        }

    @cached_property
    def compares(self) -> Mapping[str, tuple[str, ...]]:
        """Maps each parameter to the names of the field that it compares."""
        return {wanted.parameter: (each.name, each.path) for each, wanted in self._filters}

    def conditions(self, arguments: Mapping[str, Any]) -> list[Q]:
        given = [(each, wanted) for each, wanted in self._filters if wanted.parameter in arguments]
        return [each.condition(wanted, arguments[wanted.parameter]) for each, wanted in given]

    def compared(self, arguments: Mapping[str, Any]) -> list[QueryColumn]:
        """The amounts by which these arguments order or filter the list. A bound of 0 does not count, because it means
        the same in any currency."""
        order = arguments["order"].lstrip("-")
        bounded = {each.name for each, wanted in self._filters if arguments.get(wanted.parameter)}
        return [each.query_column() for each in self._amounts if each.name == order or each.name in bounded]

    def given(self, arguments: Mapping[str, Any]) -> list[GivenFilter]:
        """The filters that these arguments set."""

        def given_filter(field: ResourceField, wanted: Filter, argument: Any) -> GivenFilter:
            def count_passing() -> int:
                return self.model._default_manager.filter(field.condition(wanted, argument)).count()

            return GivenFilter(wanted.parameter, argument, field.query_column(), count_passing)

        found = ((each, wanted) for each, wanted in self._filters if wanted.parameter in arguments)
        return [given_filter(each, wanted, arguments[wanted.parameter]) for each, wanted in found]

    @cached_property
    def ranges(self) -> Sequence[tuple[str, str]]:
        """Pairs of parameters that bound the same field: (lowest, highest)."""
        bounds = [{wanted.lookup: wanted.parameter for wanted in each.filters} for each in self.fields]
        return [(each["gte"], each["lte"]) for each in bounds if {"gte", "lte"} <= each.keys()]

    @cached_property
    def _filters(self) -> Sequence[tuple[ResourceField, Filter]]:
        return [(each, wanted) for each in self.fields for wanted in each.filters]

    @cached_property
    def _amounts(self) -> Sequence[ResourceField]:
        return [each for each in self.fields if each.type is AMOUNT]

    @property
    def _filtered_by(self) -> list[str]:
        return [wanted.parameter for _, wanted in self._filters]

    # -- How objects are stored ---------------------------------------------------------------------

    def column_values(self, upstream: Mapping[str, Any]) -> dict[str, Any]:
        """The values of `own_columns` for upstream's object."""
        return {each.column: each.column_value(upstream) for each in self._own}

    @cached_property
    def own_columns(self) -> tuple[str, ...]:
        """The columns of the fields, without COMMON_COLUMNS."""
        return tuple(each.column for each in self._own)

    @cached_property
    def _own(self) -> list[ResourceField]:
        return [each for each in self.fields if each.column and each.column not in COMMON_COLUMNS]


def order_parameter(orders: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": "string",
        "pattern": f"^-?({'|'.join(orders)})$",
        "default": "-insertedOn",
        "description": "Field to sort by; a minus sign before it sorts from high to low.",
    }


def ordered(order: str, orders: Mapping[str, str], model: type[Model]) -> Sequence[str | OrderBy]:
    """Columns to sort by; ties are sorted by the unique id. Nulls are last in either direction, on every database."""
    return _ordered_by(model, orders[order.lstrip("-")], "-" if order.startswith("-") else "")


@lru_cache(maxsize=256)
def _ordered_by(model: type[Model], column: str, sign: str) -> Sequence[str | OrderBy]:
    if column == "id":
        return (f"{sign}id",)
    has_nulls = model._meta.get_field(column).null
    first = OrderBy(F(column), descending=bool(sign), nulls_last=True) if has_nulls else sign + column
    return (first, f"{sign}id")


def _shown(each: ResourceField) -> Field:
    return Field(each.name, each.source, each.convert)


def _repeated(names: Any) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}
