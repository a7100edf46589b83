"""The columns that a query can use: their names, their types, and where upstream stores their values.

A name is looked up first as a canonical name, then as upstream's own name of a declared column, then as any other name
or dotted path in upstream's rows. The last kind has no declared type: the query decides the type it is read as.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Context, Decimal
from enum import StrEnum
from typing import Any

from context_protection.core import projection
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.masks import is_withheld, why_withheld
from context_protection.core.names import meant
from context_protection.core.query import currencies
from context_protection.core.query.corrections import NOTHING, Correctable
from context_protection.core.redaction import STANDARD, Visibility
from context_protection.core.shapes import ANY, Shape
from context_protection.core.withheld_fields import under_all_names

NAME_CHARS = 200
# Wide enough for any sum of JSON numbers: from 5e-324 to 1.8e308.
EXACT = Context(prec=1000)

# Python and Postgres share this pattern, so that both accept the same texts as dates. Seconds may be missing. Its last
# alternative means "no character follows": in Python `$` would allow a line break.
_LONG, _SHORT = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])", "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
_FEBRUARY = "02-(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_DAY = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29"
_DAY = f"(?:(?!0000)[0-9][0-9][0-9][0-9]-(?:{_LONG}|{_SHORT}|{_FEBRUARY})|{_LEAP_DAY})"
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9]|(?![:0-9]))"
MOMENT_PATTERN = f"^({_DAY}(?:[T ]{_TIME}|(?!.|\n)))"
_MOMENT = re.compile(MOMENT_PATTERN)
MIDNIGHT = " 00:00"  # the time of a date, without seconds

Scalar = str | Decimal | bool


class Type(StrEnum):
    """The type that a value is read as. A value of another type reads as null; reading never raises.

    DATE is a text YYYY-MM-DD, MOMENT a text YYYY-MM-DD HH:MM:SS as upstream wrote it: both sort as texts. NUMBER is
    exact. BOOLEAN is true, false, 1 or 0. ANY is any JSON value: an object reads as "(object)", a list as "(list)".
    """

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"
    ANY = "any"


_OFFSET = re.compile(r"[+-][0-9]{2}:?[0-9]{2}$")
_YEAR_LAST = re.compile(r"[0-9]{1,2}([/.-])[0-9]{1,2}\1[0-9]{4}(?![0-9])")
_AN_OBJECT, _A_LIST = "(object)", "(list)"  # in place of a value that has no type of a column
_SAMPLED = {str: Type.TEXT, Decimal: Type.NUMBER, bool: Type.BOOLEAN}


@dataclass(frozen=True)
class QueryColumn:
    """A column that a query may name.

    `path`: the path in upstream's record, if it differs from the name. `column`: the database column that holds the
    converted value; without one the value is read from upstream's JSON. `unit`: the canonical name of the column with
    the unit of its numbers, such as a currency. `elsewhere`: texts that this column never holds, each with the column
    that does. `only_where`: queries may filter by the column, but not see its values. `reads`: computes the value from
    a record, if `path` and `convert` do not suffice. `sample`: some rows, or all, of an undeclared column."""

    name: str
    type: Type = Type.ANY
    path: str = ""
    column: str = ""
    convert: Callable[[Any], Any] | None = None
    unit: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    only_where: bool = False
    reads: Callable[[Mapping[str, Any]], Any] | None = None
    sample: Callable[[], Sequence[Mapping[str, Any]]] = field(default=tuple, compare=False)

    @cached_property
    def sampled(self) -> Type:
        """The type of an undeclared column's values, as far as the sample tells: TEXT, NUMBER, BOOLEAN, or MOMENT for
        texts that are all moments with a time. Empty texts do not count. ANY if there are no values, values of several
        types, lists or objects."""
        values = self._sampled_values
        types = {Type.ANY if each in (_AN_OBJECT, _A_LIST) else _SAMPLED[type(each)] for each in values}
        if types == {Type.TEXT} and all(map(_has_time, values)):
            return Type.MOMENT
        return types.pop() if len(types) == 1 else Type.ANY

    @cached_property
    def has_offsets(self) -> bool:
        """Whether any of the sampled moments is in local time."""
        return any(_OFFSET.search(str(each)) for each in self._sampled_values)

    @cached_property
    def has_years_last(self) -> bool:
        """Whether all sampled values are dates such as 9/23/2025, whose order as texts is not that of time."""
        values = self._sampled_values
        return bool(values) and all(isinstance(each, str) and _YEAR_LAST.match(each) for each in values)

    @cached_property
    def _sampled_values(self) -> Sequence[Scalar]:
        values = (self.read(row, Type.ANY) for row in self.sample())
        return [each for each in values if each is not None and each != ""]

    @property
    def source(self) -> str:
        return self.path or self.name

    def read(self, record: Mapping[str, Any], as_type: Type) -> Scalar | None:
        """The record's value as that type; None if the record has no such value."""
        if self.reads:
            return read_as(self.reads(record), as_type)
        value = upstream(record, self.source)
        return read_as(self.convert(value) if self.convert else value, as_type)


@dataclass(frozen=True)
class QueryColumns:
    """The columns of one list. `sample` returns some of its rows in upstream's form, or all if they are in memory. It
    is called only for an undeclared name, to see whether rows have it. `visibility`: the fields that a query may
    use."""

    declared: tuple[QueryColumn, ...] = ()
    shape: Shape = ANY
    sample: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    visibility: Visibility = STANDARD

    def with_sample(self, sample: Callable[[], Sequence[Mapping[str, Any]]]) -> "QueryColumns":
        return self._sharing_names(replace(self, sample=sample))

    def seen_by(self, visibility: Visibility) -> "QueryColumns":
        return self._sharing_names(replace(self, visibility=visibility))

    def _sharing_names(self, columns: "QueryColumns") -> "QueryColumns":
        """The columns, which are declared as these are. To make the dictionary of their names takes 50 µs."""
        columns.__dict__["_by_name"] = self._by_name
        return columns

    def resolve(self, name: str, parameter: str) -> QueryColumn:
        """The column of that name, whatever its case. Raises InvalidArgument: unknown_field with the nearest valid
        name, or withheld_field for a secret's name, whether or not rows have it."""
        is_name = _storable(name) and len(name) <= NAME_CHARS
        if is_name and is_withheld(name, self._seen):
            raise _withheld(name, parameter, self._seen)
        column = self._found(name) if is_name else None
        if column is None and is_name and (same := meant(name, [*self._queryable, *self._renamed])):
            name, column = same, self._found(same)
        if column is not None and self._seen.withholds(column.source.split(".")):
            raise _withheld(name, parameter, self._seen)
        if column is None or is_withheld(column.source, self._seen):
            raise self._unknown(name, parameter)
        return replace(column, name=name, only_where=self._is_left_out(column.source))

    def shows(self, name: str) -> bool:
        """Whether the policy lets answers name values of this column."""
        return not is_withheld(name, self._seen)

    @cached_property
    def _seen(self) -> Visibility:
        return under_all_names(self.visibility, self.shape)

    @cached_property
    def _by_name(self) -> dict[str, QueryColumn]:
        # Upstream's name means upstream's own value; a converted value is available only by its canonical name.
        paths = {each.source: each for each in self.declared if not each.convert}
        return paths | {each.name: each for each in self.declared}

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """The sources of the aliases that rename a field, and do not convert it."""
        return {each.name: each.path for each in self.shape.aliases if not each.convert}

    def _found(self, name: str) -> QueryColumn | None:
        if name in self._by_name:
            return self._by_name[name]
        if (declared := self._by_name.get(self._renamed.get(name, ""))) is not None:
            return declared
        if name in self.shape.fields:
            shown_as = self.shape.fields[name]
            return QueryColumn(
                name, path=shown_as.path, convert=shown_as.convert, reads=shown_as.read, sample=self.sample
            )
        if not self._known(name):
            return None
        return QueryColumn(name, unit=currencies.beside(name, self.sample), sample=self.sample)

    def _known(self, name: str) -> bool:
        if name in self.shape.known:
            return True
        rows, steps = self.sample(), name.split(".")
        if not rows and not self.shape.known:
            return True  # no rows and no schema: any name may be valid
        if name in self._names_of_rows or steps[0] not in self._names_of_rows:
            return name in self._names_of_rows
        return "*" not in steps and any(projection.resolves(row, name) for row in rows)

    @cached_property
    def _names_of_rows(self) -> Set[str]:
        return set().union(*self.sample())

    def _is_left_out(self, source: str) -> bool:
        """Whether lists redact the value at `source`. Tests it on a record that has only this value."""
        probe: Any = 1
        for step in reversed(source.split(".")):
            probe = {step: probe}
        return any(self.shape.as_row(each)[1] for each in (probe, {source: 1}))

    @property
    def _canonical(self) -> list[str]:
        return list(dict.fromkeys([*(each.name for each in self.declared), *self.shape.fields]))

    @property
    def _queryable(self) -> list[str]:
        """The canonical names, then upstream's; without those that are withheld."""
        upstreams = {*self._by_name, *self.shape.known, *(key for row in self.sample()[:1] for key in row)}
        every = dict.fromkeys([*self._canonical, *sorted(upstreams)])
        return [each for each in every if not is_withheld(each, self._seen)]

    def _unknown(self, name: str, parameter: str) -> InvalidArgument:
        queryable = self._queryable
        close = nearest(name[:NAME_CHARS], queryable)
        listed = [each for each in self._canonical if each in queryable] or queryable
        return Correctable(
            f"{parameter} uses {shown(name)!r}, which cannot be queried here.",
            reason="unknown_field",
            parameter=parameter,
            value=name,
            expected=f"any of: {', '.join(str(shown(each)) for each in listed)}; or one of upstream's own names, "
            "with a.b for a field within a",
            suggestion=f"Did you mean {shown(close)}?" if close else "Choose from those listed.",
            wrong=name,
            right=close or NOTHING,
        )


def _withheld(name: str, parameter: str, visibility: Visibility) -> InvalidArgument:
    return Correctable(
        f"{parameter} uses {shown(name)!r}, which is {why_withheld(name, visibility)}",
        reason="withheld_field",
        parameter=parameter,
        value=name,
        expected="a field that is not withheld",
        suggestion=f"Leave {shown(name)} out, or ask an operator to let this key see it.",
        wrong=name,
    )


NOTHING_DECLARED = QueryColumns()


def upstream(record: Mapping[str, Any], name: str) -> Any:
    """The record's value under a name or, if it has no such name, at a dotted path."""
    return record[name] if name in record else projection.get(record, name)


def read_as(value: Any, as_type: Type) -> Scalar | None:
    """A JSON value as that type; None if it is not of that type."""
    match as_type:
        case Type.TEXT:
            return _text(value)
        case Type.NUMBER:
            return _number(value)
        case Type.BOOLEAN:
            return bool(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None
        case Type.DATE:
            return found[:10] if (found := _moment(value)) else None
        case Type.MOMENT:
            return _moment(value)
        case Type.ANY:
            return _any(value)


def _text(value: Any) -> str | None:
    return value.replace("\0", "\ufffd") if isinstance(value, str) else None  # Postgres cannot store NUL


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 2**64 else None  # our JSON has no larger integers
    return Decimal(str(value)) if math.isfinite(value) else None


def _moment(value: Any) -> str | None:
    match = _MOMENT.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    found = match[1].replace("T", " ")
    minute = found if len(found) > 10 else f"{found}{MIDNIGHT}"
    return f"{minute}:00"[:19]


def _has_time(value: Any) -> bool:
    return _moment(value) is not None and len(value) > 10


def _any(value: Any) -> Scalar | None:
    if isinstance(value, dict):
        return _AN_OBJECT
    if isinstance(value, (list, tuple)):
        return _A_LIST
    return value if isinstance(value, bool) else _text(value) if isinstance(value, str) else _number(value)


def week(day: str) -> str:
    """The ISO week of YYYY-MM-DD: "2026-W47"."""
    year, number, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{number:02}"


def place(value: Scalar | None) -> tuple[int, Any]:
    """A sort key over values of all types: numbers, texts by code point, booleans, nulls last. Values are equal if
    their keys are: 1 and true differ."""
    match value:
        case None:
            return 3, 0
        case bool():
            return 2, value
        case str():
            return 1, value
        case _:
            return 0, value


def as_json(value: Scalar | None) -> Any:
    """The value as JSON in a response: whole numbers without a fraction, exact if JSON rows can have them."""
    if not isinstance(value, Decimal):
        return value
    if value == value.to_integral_value(context=EXACT) and -(2**63) <= value < 2**64:
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else None  # JSON has no infinity


def storable(values: Iterable[str]) -> bool:
    return all(map(_storable, values))


def _storable(text: str) -> bool:
    """Whether a database can store the text: no NUL, no lone surrogate."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
