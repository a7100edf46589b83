"""A field of Hostaway's objects: one declaration of how it is stored, shown, filtered, sorted and queried."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

from django.db.models import Q

from context_protection.core.query.columns import QueryColumn, Type
from context_protection.core.query.conditions import Condition, Op
from context_protection.orm.expressions import comparison
from gateway.connectors.hostaway import values

Convert = Callable[[Any], Any]
CONTAINS = "contains"


# -- Types ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FieldType:
    """Properties shared by all fields of one type. `stored` converts upstream's value for the column; `shown` converts
    the column's value for a row. `lowest` and `highest` convert the argument of a filter that bounds the field."""

    query: Type
    schema: Mapping[str, Any]
    stored: Convert
    shown: Convert | None = None
    lowest: Convert = lambda value: value
    highest: Convert = lambda value: value
    unit: str = ""  # name of the field that holds the unit of the number


def number(value: Decimal | float | None) -> int | float | None:
    """A stored number as upstream writes it: 60, 3083.88."""
    if value is None:
        return None
    written = float(value)
    return int(written) if written.is_integer() and -(2**53) < written < 2**53 else written


def moment(value: datetime | None) -> str | None:
    """A stored time as upstream writes it, in UTC."""
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def _exact(value: Any) -> Decimal:
    """The number exactly as written. A float would be rounded, so that a bound could exclude an amount that equals
    it."""
    return Decimal(str(value))


def _start_of_day(value: str) -> datetime:
    return datetime.fromisoformat(value).replace(tzinfo=UTC)


def _end_of_day(value: str) -> datetime:
    return datetime.combine(_start_of_day(value), time.max, UTC)


_STRING = {"type": "string", "maxLength": 200}
_DAY = {"type": "string", "format": "date"}

TEXT = FieldType(Type.TEXT, _STRING, values.text)
REQUIRED_TEXT = FieldType(Type.TEXT, _STRING, lambda value: values.text(value) or "")
CODE = FieldType(Type.TEXT, _STRING, values.code)
INTEGER = FieldType(Type.NUMBER, {"type": "integer"}, values.integer)
REAL = FieldType(Type.NUMBER, {"type": "number"}, values.real, number)
AMOUNT = FieldType(Type.NUMBER, {"type": "number"}, values.decimal, number, _exact, _exact, unit="currency")
DATE = FieldType(Type.DATE, _DAY, values.day)
MOMENT = FieldType(Type.MOMENT, _DAY, values.moment, moment, _start_of_day, _end_of_day)


# -- Filters ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """A list parameter that filters by the field. `lookup` is Django's, or CONTAINS, which ignores case and accents.
    `condition` replaces the lookup where one comparison is not enough."""

    parameter: str
    description: str
    lookup: str = "exact"
    one_of: Sequence[str] = ()
    condition: Callable[[Any], Q] | None = None


# -- Fields -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ResourceField:
    """A field by its canonical name.

    `source` is upstream's name, if it differs. `column` is the model's column, by which lists can be sorted; queries
    read a field without a column from upstream's JSON. `preview`: previews of records show it. A field without a type
    can only be shown. `convert` makes the canonical value from upstream's. `elsewhere`: value that this field never has
    → the field that has it."""

    name: str
    type: FieldType | None = None
    source: str = ""
    column: str = ""
    in_row: bool = False
    preview: bool = False
    filters: tuple[Filter, ...] = ()
    convert: Convert | None = None
    elsewhere: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return self.source or self.name

    def column_value(self, upstream: Mapping[str, Any]) -> Any:
        """The value for the column. Raises TypeError for a field without a type."""
        value = upstream.get(self.path)
        return self._typed.stored(self.convert(value) if self.convert else value)

    def condition(self, wanted: Filter, argument: Any) -> Q:
        """The condition for rows that pass the filter."""
        if wanted.condition is not None:
            return wanted.condition(argument)
        if wanted.lookup == CONTAINS:
            return Q(comparison(Condition(self.query_column(), Op.CONTAINS, Type.TEXT, argument)))
        bounds = {"gte": self._typed.lowest, "lte": self._typed.highest}
        convert = bounds.get(wanted.lookup, lambda value: value)
        return Q(**{f"{self.column}__{wanted.lookup}": convert(argument)})

    def parameter(self, wanted: Filter) -> dict[str, Any]:
        """The JSON Schema of the filter's parameter."""
        schema = {"type": "string", "enum": list(wanted.one_of)} if wanted.one_of else self._typed.schema
        return {**schema, "description": wanted.description}

    def query_column(self) -> QueryColumn:
        return QueryColumn(
            self.name,
            self._typed.query,
            self.source,
            self.column,
            self.convert,
            self._typed.unit,
            self.elsewhere,
        )

    @property
    def _typed(self) -> FieldType:
        if self.type is None:
            raise TypeError(f"{self.name} has no type: it cannot be stored, filtered or queried")
        return self.type


def moments(*names: str) -> tuple[ResourceField, ...]:
    """Fields for times that only queries read."""
    return tuple(ResourceField(name, MOMENT) for name in names)


def amounts(*names: str) -> tuple[ResourceField, ...]:
    """Fields for amounts that only queries read."""
    return tuple(ResourceField(name, AMOUNT) for name in names)


CREATED = (
    Filter("createdFrom", "Created on or after.", "gte"),
    Filter("createdTo", "Created on or before.", "lte"),
)
