"""What is known of a type of record: what a preview keeps, which sections it has, what never leaves.

A connector declares a `Shape` for each of its types. A record of an unknown type has the empty shape, for which
everything is found from the record itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import Any

from context_protection import projection

REST_OF_THE_RECORD = "other"
_ASKABLE = re.compile(r"[\w-]+")


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


@dataclass(frozen=True)
class Shape:
    name: str = "record"
    identity: str = "id"
    row: tuple[Field, ...] = ()  # what a row of a list is condensed to
    preview: tuple[Field, ...] = ()  # what a record's preview adds to that
    sections: tuple[Section, ...] = ()
    withheld: tuple[str, ...] = ()  # names (`*` allowed) that never leave, at any depth
    withheld_in_lists: tuple[str, ...] = ()  # names that only a record shows
    known: frozenset[str] = field(default=frozenset())  # documented names, valid even where a record lacks them

    @cached_property
    def canonical(self) -> dict[str, Field]:
        return {each.name: each for each in (*self.row, *self.preview)}

    @cached_property
    def names(self) -> list[str]:
        """Every name that `fields` may hold, as far as it is known without a record."""
        return sorted({*self.canonical, *self.known})

    @cached_property
    def section_names(self) -> list[str]:
        return [*(section.name for section in self.sections), REST_OF_THE_RECORD]

    def section_of(self, name: str) -> str:
        return self._sections.setdefault(name, _first_match(name, self.sections))

    @cached_property
    def _sections(self) -> dict[str, str]:
        return {}

    def in_sections(self, record: Mapping[str, Any]) -> dict[str, list[str]]:
        """The record's top-level names by section: together they are all of them. Where no sections are
        declared, each object or array is one, and the plain values are another."""
        rest = REST_OF_THE_RECORD
        while rest in record:
            rest = f"_{rest}"
        groups: dict[str, list[str]] = {}
        for name, value in record.items():
            section = self.section_of(name) if self.sections else name if _is_section(name, value) else rest
            groups.setdefault(section if section != REST_OF_THE_RECORD else rest, []).append(name)
        return groups

    def without_withheld(self, record: dict[str, Any], *, in_list: bool = False) -> tuple[dict[str, Any], list[str]]:
        """The record as it may leave, and the paths of what was taken out (law 8)."""
        patterns = self.withheld + self.withheld_in_lists if in_list else self.withheld
        if not patterns:
            return record, []
        removed: list[str] = []
        kept: dict[str, Any] = _strip(record, patterns, "", removed)
        return kept, list(dict.fromkeys(removed))


def _first_match(name: str, sections: Iterable[Section]) -> str:
    for section in sections:
        if any(fnmatchcase(name, pattern) for pattern in section.patterns):
            return section.name
    return REST_OF_THE_RECORD


def _is_section(name: str, value: Any) -> bool:
    """Whether a field of an unknown record can stand as a section: it is large, and `fields` can name it."""
    return isinstance(value, (dict, list)) and name != "all" and bool(_ASKABLE.fullmatch(name))


@lru_cache(maxsize=65536)
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


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


ANY = Shape()
