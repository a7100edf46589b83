"""The fields of a type of record, and how their values are read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from context_protection.core import projection


@dataclass(frozen=True)
class Field:
    """A field of a preview: its canonical name, and its path in upstream's record. `is_kept`: previews show it whole,
    however long it is, unless their fields would then take more than half of the hard cap."""

    name: str
    path: str = ""
    convert: Callable[[Any], Any] | None = None
    is_kept: bool = False

    @property
    def source(self) -> str:
        return self.path or self.name

    @property
    def sources(self) -> tuple[str, ...]:
        """The paths in upstream's record that hold the value itself."""
        return (self.source,)

    def read(self, record: Mapping[str, Any]) -> Any:
        value = projection.get(record, self.source)
        return self.convert(value) if self.convert else value


class FieldReader:
    """Reads many fields of a record. Most are fields of upstream's record, or of an object in it: these take no
    function call each."""

    def __init__(self, fields: Mapping[str, Field]) -> None:
        self.names, self._fields = list(fields), list(fields.values())
        self._paths = [each.source for each in self._fields]
        self._firsts = [path.partition(".")[0] for path in self._paths]
        leaves = [_leaf(each) for each in self._fields]
        self._below = [(at, leaf) for at, leaf in enumerate(leaves) if leaf]
        self._others = [at for at, leaf in enumerate(leaves) if leaf is None]
        self._of_one_path = {name for name, leaf in zip(self.names, leaves, strict=True) if leaf is not None}

    def values(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each field by its name; None for a field that the record lacks."""
        values = list(map(record.get, self._firsts))
        for at, leaf in self._below:
            above = values[at]
            values[at] = above.get(leaf) if type(above) is dict else self._fields[at].read(record)
        for at in self._others:
            values[at] = self._fields[at].read(record)
        return dict(zip(self.names, values, strict=True))

    def columns(self, records: Sequence[dict[str, Any]]) -> list[list[Any]]:
        """The values of each field in all records, in a loop in C for most fields."""
        columns: list[list[Any]] = [list(map(dict.get, records, repeat(first))) for first in self._firsts]
        for at, leaf in self._below:
            columns[at] = projection.column(columns[at], leaf)
        for at in self._others:
            columns[at] = _column_of(self._fields[at], records)
        return columns

    def missing(self, record: Mapping[str, Any], present: Iterable[str]) -> list[str]:
        """The paths that do not exist in the record. `present`: the names of fields whose values are not None."""
        unsure = set(self.names).difference(self._of_one_path.intersection(present))
        if not unsure:
            return []
        named = zip(self.names, self._paths, strict=True)
        return [path for name, path in named if name in unsure and not projection.resolves(record, path)]


def _column_of(field: Field, records: Sequence[Mapping[str, Any]]) -> list[Any]:
    if type(field) is not Field:  # a subclass may read several paths
        return [field.read(record) for record in records]
    values = projection.column(records, field.source)
    return [field.convert(value) for value in values] if field.convert else values


def _leaf(field: Field) -> str | None:
    """The last step of a path with two; "" for one with one. None for other paths, and for fields whose value is not
    that of their path."""
    first, _, leaf = field.source.partition(".")
    is_plain = type(field) is Field and field.convert is None and "." not in leaf and "*" not in (first, leaf)
    return leaf if is_plain else None
