"""What can be asked of a list's rows: by which names, of which type, and where upstream keeps it.

A name is looked up as canonical first, then as upstream's own name of a declared column, then as any other name or
dotted path that upstream's rows have. The latter has no type of its own: it is read as what it is asked for.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Context, Decimal
from enum import StrEnum
from typing import Any

from context_protection.core import projection
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.shapes import ANY, Shape
from context_protection.core.withheld import HOW_TO_REVEAL, is_withheld

NAME_CHARS = 200
# Wide enough for any sum of JSON numbers: from 5e-324 to 1.8e308.
EXACT = Context(prec=1000)

# One pattern for Python and Postgres, so that both take the same texts for dates. The last alternative of the end is
# "no character follows": `$` would allow a line break in Python.
_LONG, _SHORT = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])", "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
_FEBRUARY = "02-(?:0[1-9]|1[0-9]|2[0-8])"
_LEAP_DAY = "(?:[0-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)-02-29"
_DAY = f"(?:(?!0000)[0-9][0-9][0-9][0-9]-(?:{_LONG}|{_SHORT}|{_FEBRUARY})|{_LEAP_DAY})"
MOMENT_PATTERN = f"^({_DAY}(?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|(?!.|\n)))"
_MOMENT = re.compile(MOMENT_PATTERN)
MIDNIGHT = " 00:00:00"

Scalar = str | Decimal | bool


class Type(StrEnum):
    """What a value is read as. What is not of the type counts as null, it never raises.

    DATE is a text YYYY-MM-DD, MOMENT a text YYYY-MM-DD HH:MM:SS as upstream wrote it: both sort as texts. NUMBER is
    exact. BOOLEAN is true, false, 1 or 0. ANY is whatever JSON has: an object reads as "(object)", a list as "(list)".
    """

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    DATE = "date"
    MOMENT = "moment"
    ANY = "any"


@dataclass(frozen=True)
class AskedColumn:
    """`path`: where upstream keeps it, if not under its name. `column`: the database column that holds it, after
    `convert`; without one it is read out of upstream's JSON. `unit`: the canonical name of the column without which
    its numbers mean nothing, as a currency. `elsewhere`: texts that it never holds, with the column that does.
    `only_where`: it may be filtered by, but its values are not shown."""

    name: str
    type: Type = Type.ANY
    path: str = ""
    column: str = ""
    convert: Callable[[Any], Any] | None = None
    unit: str = ""
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    only_where: bool = False

    @property
    def source(self) -> str:
        return self.path or self.name

    def read(self, record: Mapping[str, Any], as_type: Type) -> Scalar | None:
        """The record's value, read as that type; None where there is none of it."""
        value = upstream(record, self.source)
        return read_as(self.convert(value) if self.convert else value, as_type)


@dataclass(frozen=True)
class AskedColumns:
    """What can be asked of one list. `sample` gives some of its rows as upstream has them, from which undeclared names
    are known; it is called only for such a name. `reveal`: names of secret fields that may be asked."""

    declared: tuple[AskedColumn, ...] = ()
    shape: Shape = ANY
    sample: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    reveal: frozenset[str] = frozenset()

    def resolve(self, name: str, parameter: str) -> AskedColumn:
        """The column of that name. Raises InvalidArgument: unknown_field with the nearest valid name, or withheld_field
        for the name of a secret, whether rows have it or not."""
        is_name = _storable(name) and len(name) <= NAME_CHARS
        if is_name and is_withheld(name, self.reveal):
            raise _withheld(name, parameter)
        column = self._found(name) if is_name else None
        if column is None or is_withheld(column.source, self.reveal):
            raise self._unknown(name, parameter)
        return replace(column, name=name, only_where=self._is_left_out(column.source))

    @cached_property
    def _by_name(self) -> dict[str, AskedColumn]:
        # Under upstream's name only what upstream has there: a converted value goes by its canonical name.
        paths = {each.source: each for each in self.declared if not each.convert}
        return paths | {each.name: each for each in self.declared}

    def _found(self, name: str) -> AskedColumn | None:
        if name in self._by_name:
            return self._by_name[name]
        if name in self.shape.canonical:
            shown_as = self.shape.canonical[name]
            return AskedColumn(name, path=shown_as.path, convert=shown_as.convert)
        return AskedColumn(name) if self._known(name) else None

    def _known(self, name: str) -> bool:
        if name in self.shape.known:
            return True
        rows = self.sample()
        if not rows and not self.shape.known:
            return True  # nothing is known of what could be asked
        return any(name in row or ("*" not in name.split(".") and projection.resolves(row, name)) for row in rows)

    def _is_left_out(self, source: str) -> bool:
        """Whether lists leave out what stands at `source`, tried on a record that has only this."""
        probe: Any = 1
        for step in reversed(source.split(".")):
            probe = {step: probe}
        return any(self.shape.as_row(each)[1] for each in (probe, {source: 1}))

    def _unknown(self, name: str, parameter: str) -> InvalidArgument:
        canonical = list(dict.fromkeys([*(each.name for each in self.declared), *self.shape.canonical]))
        upstreams = {*self._by_name, *self.shape.known, *(key for row in self.sample()[:1] for key in row)}
        askable = [each for each in [*canonical, *sorted(upstreams)] if not is_withheld(each, self.reveal)]
        close = nearest(name[:NAME_CHARS], askable)
        listed = canonical or askable
        return InvalidArgument(
            f"{parameter} names {shown(name)!r}, which cannot be asked here.",
            reason="unknown_field",
            parameter=parameter,
            value=name,
            expected=f"any of: {', '.join(str(shown(each)) for each in listed)}; or one of upstream's own names, "
            "below a name with dots",
            suggestion=f"Did you mean {shown(close)}?" if close else "Choose from those listed.",
        )


def _withheld(name: str, parameter: str) -> InvalidArgument:
    return InvalidArgument(
        f"{parameter} names {shown(name)!r}, which is {HOW_TO_REVEAL}",
        reason="withheld_field",
        parameter=parameter,
        value=name,
        expected="a field that is not withheld",
        suggestion=f"Leave {shown(name)} out, or ask an operator to reveal it to this key.",
    )


NOTHING_DECLARED = AskedColumns()


def upstream(record: Mapping[str, Any], name: str) -> Any:
    """What a record has under a name or, if it has no such name, a dotted path."""
    return record[name] if name in record else projection.get(record, name)


def read_as(value: Any, as_type: Type) -> Scalar | None:
    """A JSON value as that type, or None."""
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
    return value.replace("\0", "\ufffd") if isinstance(value, str) else None  # as Postgres has to


def _number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 2**64 else None  # no JSON of ours has larger ones
    return Decimal(str(value)) if math.isfinite(value) else None


def _moment(value: Any) -> str | None:
    match = _MOMENT.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    found = match[1].replace("T", " ")
    return found if len(found) > 10 else f"{found}{MIDNIGHT}"


def _any(value: Any) -> Scalar | None:
    if isinstance(value, dict):
        return "(object)"
    if isinstance(value, (list, tuple)):
        return "(list)"
    return value if isinstance(value, bool) else _text(value) if isinstance(value, str) else _number(value)


def week(day: str) -> str:
    """The ISO week of YYYY-MM-DD: "2026-W47"."""
    year, number, _ = date.fromisoformat(day).isocalendar()
    return f"{year:04}-W{number:02}"


def fold(text: str) -> str:
    """A text as `contains` compares it: in upper or lower case alike, in any script. Not casefold, which Postgres
    has no twin of: it differs from this in a few letters such as the Turkish dotted I."""
    return text.lower().upper()


def place(value: Scalar | None) -> tuple[int, Any]:
    """The value's place in an order that holds for all: numbers, texts by code point, booleans, and nulls last. Values
    are the same when their places are: 1 and true are not."""
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
    """The value as an answer has it: whole numbers without a fraction."""
    if not isinstance(value, Decimal):
        return value
    if value == value.to_integral_value(context=EXACT) and -(2**63) <= value < 2**63:
        return int(value)
    number = float(value)
    return number if math.isfinite(number) else None  # beyond what JSON can write


def storable(values: Iterable[str]) -> bool:
    return all(map(_storable, values))


def _storable(text: str) -> bool:
    """Whether a text can stand in a database: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
