"""What is known of a type of record: what a preview keeps, which sections it has, what lists leave out.

A connector declares a `Shape` for each of its types. What a shape does not declare, as the empty one of an unknown
type, is proposed from the records themselves (proposals.py).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Any

from context_protection.core import projection
from context_protection.core.cached_property import cached_property

REST_OF_THE_RECORD = "other"
_PLAIN = re.compile(r"[^*?\[]*")


@dataclass(frozen=True)
class Field:
    """A field of a preview: its canonical name, and where upstream keeps it."""

    name: str
    path: str = ""
    convert: Callable[[Any], Any] | None = None

    @property
    def source(self) -> str:
        return self.path or self.name

    def read(self, record: Mapping[str, Any]) -> Any:
        value = projection.get(record, self.source)
        return self.convert(value) if self.convert else value


@dataclass(frozen=True)
class Section:
    """A named part of a record. `patterns` are names of top-level fields, `*` allowed; the first section that
    matches a field has it."""

    name: str
    patterns: tuple[str, ...]

    def matches(self, name: str) -> bool:
        return name in self.patterns or (self._wild is not None and self._wild.match(name) is not None)

    @cached_property
    def _wild(self) -> re.Pattern[str] | None:
        return _compiled(tuple(pattern for pattern in self.patterns if not _PLAIN.fullmatch(pattern)))


@dataclass(frozen=True)
class Shape:
    name: str = "record"
    identity: str = "id"
    row: tuple[Field, ...] = ()  # what a row of a list is condensed to
    preview: tuple[Field, ...] = ()  # what a record's preview adds to that
    sections: tuple[Section, ...] = ()
    withheld_in_lists: tuple[str, ...] = ()  # names (`*` allowed), at any depth, that only a record shows
    known: frozenset[str] = field(default=frozenset())  # documented names, valid even where a record lacks them
    hoists: bool = False  # a condensed list says once, in meta.constants, what all its rows have in common
    tabular: bool = False  # condensed rows come as a table where that is smaller, unless the caller chooses

    @cached_property
    def canonical(self) -> dict[str, Field]:
        return {each.name: each for each in (*self.row, *self.preview)}

    def source(self, name: str) -> str:
        """Where upstream keeps what has this canonical name; any other name is upstream's own."""
        return self.canonical[name].source if name in self.canonical else name

    @cached_property
    def names(self) -> list[str]:
        """Every name that `fields` may hold, as far as it is known without a record."""
        return sorted({*self.canonical, *self.known})

    @cached_property
    def section_names(self) -> list[str]:
        return [*(section.name for section in self.sections), REST_OF_THE_RECORD]

    def section_of(self, name: str) -> str:
        if not self.sections:
            return REST_OF_THE_RECORD
        return self._sections.setdefault(name, _first_match(name, self.sections))

    @cached_property
    def _sections(self) -> dict[str, str]:
        return {}

    def in_sections(self, record: Mapping[str, Any]) -> dict[str, list[str]]:
        """The record's top-level names by section: together they are all of them. A section that is one field may have
        its name, as both are the same; any other is set apart from a field that the record calls so."""
        groups: dict[str, list[str]] = {}
        for name in record:
            groups.setdefault(self.section_of(name), []).append(name)
        sections: dict[str, list[str]] = {}
        for section, names in groups.items():
            sections[section if names == [section] else _unlike_a_field(section, record, sections)] = names
        return sections

    def as_row(self, record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The record as a list may show it, and the paths of what was taken out."""
        if not self.withheld_in_lists:
            return record, []
        removed: list[str] = []
        kept: dict[str, Any] = _strip(record, self.withheld_in_lists, "", removed)
        return kept, list(dict.fromkeys(removed))

    def asked_of(self, withheld: Iterable[str], names: Sequence[str]) -> list[str]:
        """Those paths of what was taken out that `names` asked for: themselves, or all of what they stand in."""
        return [path for path in withheld if any(self._covers(name, path) for name in names)]

    def _covers(self, name: str, path: str) -> bool:
        top = path.partition(".")[0]
        source = self.source(name)
        return path == source or path.startswith(f"{source}.") or self.section_of(top) == name


@lru_cache(maxsize=4096)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(translate, patterns))) if patterns else None


def _first_match(name: str, sections: Iterable[Section]) -> str:
    for section in sections:
        if section.matches(name):
            return section.name
    return REST_OF_THE_RECORD


def _unlike_a_field(section: str, record: Mapping[str, Any], others: Mapping[str, Any]) -> str:
    """The section's name, set apart from a field that the record calls the same, and from the other sections."""
    while section in record or section in others:
        section = f"_{section}"
    return section


@lru_cache(maxsize=65536)
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """In upper or lower case."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


# Nothing that could be withheld: it stays, so that a field without a value is seen to have none.
NOTHING: tuple[Any, ...] = (None, "", [], {})


def _strip(value: Any, patterns: tuple[str, ...], path: str, removed: list[str]) -> Any:
    if isinstance(value, dict):
        kept = {}
        for name, below in value.items():
            where = f"{path}{name}"
            if below not in NOTHING and _matches(name, patterns):
                removed.append(where)
            else:
                kept[name] = _strip(below, patterns, f"{where}.", removed) if isinstance(below, (dict, list)) else below
        return kept
    if isinstance(value, list):
        return [
            _strip(element, patterns, f"{path}*.", removed) if isinstance(element, (dict, list)) else element
            for element in value
        ]
    return value


ANY = Shape(hoists=True)
