"""Rows of JSON as typed columns, for SQL.

Canonical columns come first, each of its declared type; then every other name that upstream uses, of the type that its
values have. Sums of money must add up, so numbers with a few decimals are DECIMAL, never DOUBLE.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal

from context_protection.core import projection
from context_protection.core.budget import dumps

Kind = Literal["text", "number", "boolean", "date", "moment"]
Row = Mapping[str, Any]

MOST_COLUMNS = 500  # of a table, and of what SQL selects: `SELECT *` works
NAME_CHARS = 120
REST = "other_fields"  # the values of all further names, as one JSON object a row
EXACT_DIGITS = 15  # that a float always keeps
MOST_DECIMALS = 6
MOST_DEPTH = 200
NUMERAL = re.compile(r"[+-]?\d{1,18}(\.\d{1,9})?", re.ASCII)
UNSAYABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Column:
    """A canonical column: its name, the dotted path where upstream keeps it, its type, and what the connector makes of
    upstream's value."""

    name: str
    path: str
    kind: Kind
    convert: Callable[[Any], Any] | None = None

    def read(self, row: Row) -> Any:
        value = projection.get(row, self.path)
        return self.convert(value) if self.convert else value


@dataclass(frozen=True, slots=True)
class Tabulated:
    """A column with its values, one for each row. `type` is DuckDB's."""

    name: str
    type: str
    values: Sequence[Any]

    def json(self, start: int, end: int) -> bytes:
        """Values `start` to `end` as a JSON array."""
        values = self.values[start:end]
        try:
            return dumps(values)
        except TypeError:  # lone surrogates, numbers over 64 bits, depth without end
            return dumps([_sayable(value) for value in values])


def tabulate(rows: Sequence[Row], columns: Sequence[Column]) -> list[Tabulated]:
    """The table of `rows`. A value that is not of its column's declared type is null there, and stands as upstream has
    it under upstream's name. Names that differ in case alone, or are taken, get a number."""
    taken: set[str] = set()
    table: list[Tabulated] = []
    said: set[str] = set()  # upstream's names whose canonical column is all there is to say
    for column in columns:
        raw = [column.read(row) for row in rows]
        typed = _typed(raw, column.kind)
        if column.path == column.name and column.convert is None and not _lost(raw, typed):
            said.add(column.name)
        table.append(_tabulated(_free(column.name, taken), typed, column.kind))
    names = [name for name in _names(rows) if name not in said]
    room = max(MOST_COLUMNS - len(table), 0)
    if room < len(names):
        room = max(room - 1, 0)  # the last is for the rest
    for name in names[:room]:
        table.append(_tabulated(_free(name, taken), [row.get(name) for row in rows], None))
    if rest := names[room:]:
        values = [{name: row[name] for name in rest if name in row} for row in rows]
        table.append(Tabulated(_free(REST, taken), "JSON", values))
    return table


def _names(rows: Sequence[Row]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
    return list(names)


def _free(name: str, taken: set[str]) -> str:
    """`name` as SQL can say it, unlike all others in lower case."""
    plain = UNSAYABLE.sub("_", name)[:NAME_CHARS] or "empty"
    for candidate in _candidates(plain):
        if (key := candidate.casefold()) not in taken:
            taken.add(key)
            return candidate
    raise AssertionError("the candidates are without end")


def _candidates(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def _tabulated(name: str, values: Sequence[Any], kind: Kind | None) -> Tabulated:
    match kind:
        case "date":
            return Tabulated(name, "DATE", values)
        case "moment":
            return Tabulated(name, "TIMESTAMP", values)
        case _:
            return _inferred(name, values)


# -- Types that are found ---------------------------------------------------------------------------


def _inferred(name: str, values: Sequence[Any]) -> Tabulated:
    found = set(map(type, values)) - {type(None)}
    if found <= {str}:
        return Tabulated(name, "VARCHAR", values)
    if found == {bool}:
        return Tabulated(name, "BOOLEAN", values)
    if found == {int}:
        return _whole_numbers(name, values)
    if found <= {int, float} and (number := _number_type({value for value in values if value is not None})):
        return Tabulated(name, number, values)
    return Tabulated(name, "JSON", values)


def _whole_numbers(name: str, values: Sequence[Any]) -> Tabulated:
    present = [value for value in values if value is not None]
    largest = max(max(present), -min(present))
    if largest < 2**63:
        return Tabulated(name, "BIGINT", values)
    texts = [value if value is None else str(value) for value in values]
    return Tabulated(name, "HUGEINT" if largest < 2**127 else "VARCHAR", texts)


def _number_type(numbers: set[Any]) -> str | None:
    """DECIMAL where it holds each of `numbers` exactly, else DOUBLE; None where neither does."""
    finite = [number for number in numbers if math.isfinite(number)]
    largest = max(map(abs, finite), default=0)
    for decimals in range(1, MOST_DECIMALS + 1):
        if largest >= 10 ** (EXACT_DIGITS - decimals):
            break
        if all(round(number, decimals) == number for number in finite):
            return f"DECIMAL(18,{decimals})"
    whole_too_large = any(isinstance(number, int) and abs(number) > 2**53 for number in finite)
    return None if whole_too_large else "DOUBLE"


# -- Types that are declared ------------------------------------------------------------------------


def _typed(values: Sequence[Any], kind: Kind) -> list[Any]:
    read = _READERS[kind]
    return [None if value is None else read(value) for value in values]


def _lost(raw: Sequence[Any], typed: Sequence[Any]) -> bool:
    return any(type(before) is not type(after) or before != after for before, after in zip(raw, typed, strict=True))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(_sayable(value)).decode()


def _number(value: Any) -> int | float | None:
    match value:
        case bool():
            return int(value)
        case int():
            return value
        case float():
            return value if math.isfinite(value) else None
        case str() if NUMERAL.fullmatch(stripped := value.strip()):
            return float(stripped) if "." in stripped else int(stripped)
        case _:
            return None


def _boolean(value: Any) -> bool | None:
    match value:
        case bool():
            return value
        case 0 | 1:
            return bool(value)
        case str():
            return {"true": True, "1": True, "false": False, "0": False}.get(value.strip().lower())
        case _:
            return None


def _date(value: Any) -> str | None:
    """The day as it is written, whatever the offset."""
    return moment.date().isoformat() if (moment := _read_moment(value)) else None


def _moment(value: Any) -> str | None:
    """YYYY-MM-DD HH:MM:SS; a moment with an offset is said in UTC."""
    if (moment := _read_moment(value)) is None:
        return None
    try:
        return (moment.astimezone(UTC) if moment.tzinfo else moment).replace(tzinfo=None).isoformat(" ")
    except OverflowError:
        return None  # at the very ends of the calendar


def _read_moment(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


_READERS: dict[Kind, Callable[[Any], Any]] = {
    "text": _text,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "moment": _moment,
}


# -- What JSON cannot say ---------------------------------------------------------------------------


def _sayable(value: Any, depth: int = 0) -> Any:
    """`value` as strict JSON can say it: lone surrogates replaced; as texts numbers over 64 bits, and what is
    nested too deeply."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case bool() | float() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case dict() | list() if depth == MOST_DEPTH:
            return "… nested too deeply"
        case dict():
            return {_sayable(str(name)): _sayable(below, depth + 1) for name, below in value.items()}
        case list() | tuple():
            return [_sayable(element, depth + 1) for element in value]
        case _:
            return _sayable(str(value))
