"""Turns JSON rows into typed columns for SQL.

Canonical columns come first, each with its declared type; then all other names from upstream, with types inferred from
their values. Amounts of money must be exact, so numbers with a few decimals are DECIMAL, never DOUBLE.
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

MAX_COLUMNS = 500  # columns of a table and of a SELECT's result, so that `SELECT *` always works
NAME_CHARS = 120
REST = "other_fields"  # the column for all further names, with one JSON object per row
EXACT_DIGITS = 15  # decimal digits that a float always preserves
MAX_DECIMALS = 6
MAX_DEPTH = 200
NUMERAL = re.compile(r"[+-]?\d{1,18}(\.\d{1,9})?", re.ASCII)
UNSAYABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class Column:
    """A canonical column: its name, its dotted path in upstream's row, its type (None: inferred from its values), the
    connector's conversion of upstream's value, and the column with the unit of its numbers, such as a currency.
    `units`: those that occur in a computed result whose rows no longer tell the unit of each number. `reads`: computes
    the value from a row, if `path` and `convert` do not suffice."""

    name: str
    path: str
    kind: Kind | None = None
    convert: Callable[[Any], Any] | None = None
    unit: str = ""
    units: tuple[str, ...] = ()
    reads: Callable[[Row], Any] | None = None

    def read(self, row: Row) -> Any:
        if self.reads:
            return self.reads(row)
        value = projection.get(row, self.path)
        return self.convert(value) if self.convert else value


@dataclass(frozen=True, slots=True)
class Tabulated:
    """A column with its values, one per row. `type`: the DuckDB type."""

    name: str
    type: str
    values: Sequence[Any]

    def json(self, start: int, end: int) -> bytes:
        """Values `start` to `end` as a JSON array."""
        values = self.values[start:end]
        try:
            return dumps(values)
        except TypeError:  # lone surrogates, numbers over 64 bits, too deep nesting
            return dumps([_strict_json(value) for value in values])


def tabulate(rows: Sequence[Row], columns: Sequence[Column]) -> list[Tabulated]:
    """Converts `rows` to columns. A value that does not fit its declared type becomes null; a column with upstream's
    name has the original. Names that differ only in case, or are taken, get a number."""
    taken: set[str] = set()
    table: list[Tabulated] = []
    canonical: dict[str, list[Sequence[Any]]] = {}  # the values of canonical columns, by name and by path
    for column in columns:
        raw = [column.read(row) for row in rows]
        typed = _typed(raw, column.kind) if column.kind else raw
        for key in {column.name.casefold(), column.path.casefold()}:
            canonical.setdefault(key, []).append(typed)
        table.append(_tabulated(_free(column.name, taken), typed, column.kind))
    names = [name for name in _names(rows) if name.casefold() not in taken or not _is_held(name, rows, canonical)]
    room = max(MAX_COLUMNS - len(table), 0)
    if room < len(names):
        room = max(room - 1, 0)  # the last column is REST
    for name in names[:room]:
        table.append(_tabulated(_free(name, taken), [row.get(name) for row in rows], None))
    if rest := names[room:]:
        values = [{name: row[name] for name in rest if name in row} for row in rows]
        table.append(Tabulated(_free(REST, taken), "JSON", values))
    return table


def _is_held(name: str, rows: Sequence[Row], canonical: Mapping[str, Sequence[Sequence[Any]]]) -> bool:
    """Whether a canonical column of that name or path holds the same values."""
    own = [row.get(name) for row in rows]
    return any(not _lost(own, values) for values in canonical.get(name.casefold(), ()))


def _names(rows: Sequence[Row]) -> list[str]:
    names: dict[str, None] = {}
    for row in rows:
        if not row.keys() <= names.keys():
            names.update(dict.fromkeys(row))
    return list(names)


def _free(name: str, taken: set[str]) -> str:
    """`name` without characters that SQL cannot express, with a number if it is taken (case is ignored)."""
    plain = UNSAYABLE.sub("_", name)[:NAME_CHARS] or "empty"
    for candidate in _candidates(plain):
        if (key := candidate.casefold()) not in taken:
            taken.add(key)
            return candidate
    raise AssertionError("there are infinitely many candidates")


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


# -- Inferred types ---------------------------------------------------------------------------------


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
    """DECIMAL if it holds all `numbers` exactly, else DOUBLE; None if DOUBLE would lose digits of an integer."""
    finite = [number for number in numbers if math.isfinite(number)]
    largest = max(map(abs, finite), default=0)
    for decimals in range(1, MAX_DECIMALS + 1):
        if largest >= 10 ** (EXACT_DIGITS - decimals):
            break
        if all(round(number, decimals) == number for number in finite):
            return f"DECIMAL(18,{decimals})"
    whole_too_large = any(isinstance(number, int) and abs(number) > 2**53 for number in finite)
    return None if whole_too_large else "DOUBLE"


# -- Declared types ---------------------------------------------------------------------------------


def _typed(values: Sequence[Any], kind: Kind) -> list[Any]:
    read = _READERS[kind]
    return [None if value is None else read(value) for value in values]


def _lost(raw: Sequence[Any], typed: Sequence[Any]) -> bool:
    return any(type(before) is not type(after) or before != after for before, after in zip(raw, typed, strict=True))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else dumps(_strict_json(value)).decode()


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
    """The date as written; the UTC offset is ignored."""
    return found.date().isoformat() if (found := _read_moment(value)) else None


def moment(value: Any) -> str | None:
    """The timestamp as YYYY-MM-DD HH:MM:SS, converted to UTC if it has an offset."""
    if (found := _read_moment(value)) is None:
        return None
    try:
        return (found.astimezone(UTC) if found.tzinfo else found).replace(tzinfo=None).isoformat(" ")
    except OverflowError:
        return None  # in UTC it is outside the years 1 to 9999


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
    "moment": moment,
}


# -- Values that JSON cannot represent --------------------------------------------------------------


def _strict_json(value: Any, depth: int = 0) -> Any:
    """`value` as strict JSON: lone surrogates are replaced, numbers over 64 bits become texts, and a note replaces
    values that are nested too deeply."""
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case bool() | float() | None:
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else str(value)
        case dict() | list() if depth == MAX_DEPTH:
            return "… nested too deeply"
        case dict():
            return {_strict_json(str(name)): _strict_json(below, depth + 1) for name, below in value.items()}
        case list() | tuple():
            return [_strict_json(element, depth + 1) for element in value]
        case _:
            return _strict_json(str(value))
