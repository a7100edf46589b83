"""The shape of a type of record: the fields of its preview, its sections, and what lists leave out.

A connector declares a `Shape` for each of its types. Parts that a shape does not declare are inferred from the records
themselves (proposals.py). The shape of an unknown type declares nothing.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.fields import Field, FieldReader

REST_OF_THE_RECORD = "other"
MOST_NAMES = 2_000  # names whose sections a shape caches; limited, because names may be data
_PLAIN = re.compile(r"[^*?\[]*")


@dataclass(frozen=True)
class Section:
    """A named part of a record. `patterns` are names of top-level fields; `*` is allowed. A field belongs to the first
    section that matches it."""

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
    row: tuple[Field, ...] = ()  # the fields of a condensed row
    preview: tuple[Field, ...] = ()  # further fields of a record's preview
    others: tuple[Field, ...] = ()  # further canonical fields of whole records
    aliases: tuple[Field, ...] = ()  # other names that `fields` accepts, such as price.basePrice
    section_aliases: Mapping[str, str] = field(default_factory=dict)  # other names of sections that `fields` accepts
    sections: tuple[Section, ...] = ()
    withheld_in_lists: tuple[str, ...] = ()  # names at any depth (`*` allowed) that lists omit and records show
    unsearched: tuple[str, ...] = ()  # fields that `search` skips, because people do not read them
    known: frozenset[str] = field(default=frozenset())  # documented names, valid even if a record lacks them
    target_reduction: float = 0.0  # the share of tokens that a preview should leave out; 0: previews have no target
    fills_pages: bool = False  # without a limit, a page has as many rows as the budget allows
    is_canonical: bool = False  # rows are always condensed; whole records have canonical names, and no empty fields

    @cached_property
    def canonical(self) -> dict[str, Field]:
        """The fields of a preview."""
        return {each.name: each for each in (*self.row, *self.preview)}

    @cached_property
    def reader(self) -> FieldReader:
        """Reads the fields of a preview."""
        return FieldReader(self.canonical)

    @cached_property
    def row_reader(self) -> FieldReader:
        """Reads the fields of condensed rows."""
        return FieldReader({each.name: each for each in self.row})

    @cached_property
    def kept(self) -> frozenset[str]:
        """The fields of a preview that are declared to be kept."""
        return frozenset(name for name, each in self.canonical.items() if each.is_kept)

    @cached_property
    def fields(self) -> dict[str, Field]:
        """All canonical fields."""
        return {**self.canonical, **{each.name: each for each in self.others}}

    @cached_property
    def selectable(self) -> dict[str, Field]:
        """The names that `fields` accepts besides upstream's own: canonical fields and aliases. A dotted canonical name
        is looked up as a path."""
        named = {name: each for name, each in self.fields.items() if "." not in name}
        return {**{each.name: each for each in self.aliases}, **named}

    def section_named(self, name: str) -> str:
        return self.section_aliases.get(name, name)

    @cached_property
    def by_source(self) -> dict[str, tuple[Field, ...]]:
        """Upstream's path → the canonical fields that come from it."""
        groups: dict[str, tuple[Field, ...]] = {}
        for each in self.fields.values():
            groups[each.source] = (*groups.get(each.source, ()), each)
        return groups

    def source(self, name: str) -> str:
        """Upstream's path for a canonical name. Any other name is already upstream's own."""
        return self.fields[name].source if name in self.fields else name

    @cached_property
    def names(self) -> list[str]:
        """The canonical and documented names, sorted."""
        return sorted({*self.fields, *self.known})

    @cached_property
    def section_names(self) -> list[str]:
        return [*(section.name for section in self.sections), REST_OF_THE_RECORD]

    def section_of(self, name: str) -> str:
        if not self.sections:
            return REST_OF_THE_RECORD
        section = self._sections.get(name)
        if section is None:
            if len(self._sections) >= MOST_NAMES:
                self._sections.clear()
            by_name = self.source(name) if self.is_canonical else name
            section = self._sections[name] = _first_match(by_name, self.sections)
        return section

    @cached_property
    def _sections(self) -> dict[str, str]:
        return {}

    def in_sections(self, record: Mapping[str, Any]) -> Mapping[str, Sequence[str]]:
        """Section → its top-level names in the record. If a field of the record has a section's name, the section is
        renamed, unless that field is all that the section holds."""
        names = tuple(record)
        known, sections = self._last_in_sections
        if names != known:  # the records of one operation usually have the same names
            sections = self._grouped(names)
            if len(names) <= MOST_NAMES:
                self.__dict__["_last_in_sections"] = names, sections
        return sections

    @cached_property
    def _last_in_sections(self) -> tuple[tuple[str, ...], Mapping[str, Sequence[str]]]:
        """The names of the record that was last grouped, and its sections."""
        return (), {}

    def _grouped(self, record: Sequence[str]) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        known = self._sections
        for name in record:
            groups.setdefault(known.get(name) or self.section_of(name), []).append(name)
        sections: dict[str, list[str]] = {}
        for section, names in groups.items():
            sections[section if names == [section] else _distinct_name(section, record, sections)] = names
        return sections

    def as_row(self, record: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The record without the fields that lists omit, and the paths of those fields."""
        if not self.withheld_in_lists:
            return record, []
        removed: list[str] = []
        remaining: dict[str, Any] = _strip(record, self.withheld_in_lists, "", removed)
        return remaining, list(dict.fromkeys(removed))

    def requested_of(self, withheld: Iterable[str], names: Sequence[str]) -> list[str]:
        """The omitted paths that `names` request, by the path itself, a path above it, or its section."""
        return [path for path in withheld if any(self._covers(name, path) for name in names)]

    def _covers(self, name: str, path: str) -> bool:
        top = path.partition(".")[0]
        source = self.source(name)
        return path == source or path.startswith(f"{source}.") or self.section_of(top) == name


def with_sections(shape: Shape, text: str) -> Shape:
    """The shape with the sections of a policy instead of its own: money=price,tax*; guest=guest*. The text must be
    valid."""
    return replace(shape, sections=_sections_in(text), section_aliases={}) if text else shape


@lru_cache(maxsize=256)
def _sections_in(text: str) -> tuple[Section, ...]:
    named = (part.partition("=") for part in text.split(";"))
    return tuple(
        Section(name.strip(), tuple(pattern.strip() for pattern in patterns.split(","))) for name, _, patterns in named
    )


@lru_cache(maxsize=4096)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(translate, patterns))) if patterns else None


def _first_match(name: str, sections: Iterable[Section]) -> str:
    for section in sections:
        if section.matches(name):
            return section.name
    return REST_OF_THE_RECORD


def _distinct_name(section: str, record: Container[str], others: Container[str]) -> str:
    """The section's name with leading underscores until no field of the record and no other section has it."""
    while section in record or section in others:
        section = f"_{section}"
    return section


@lru_cache(maxsize=8192)
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Ignores case."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


# Empty values are never omitted from lists, so that an empty field is visibly empty.
NOTHING: tuple[Any, ...] = (None, "", [], {})


def _strip(value: Any, patterns: tuple[str, ...], path: str, removed: list[str]) -> Any:
    if isinstance(value, dict):
        remaining = {}
        for name, below in value.items():
            if _matches(name, patterns) and below not in NOTHING:
                removed.append(f"{path}{name}")
            elif isinstance(below, (dict, list)):
                remaining[name] = _strip(below, patterns, f"{path}{name}.", removed)
            else:
                remaining[name] = below
        return remaining
    if isinstance(value, list):
        return [
            _strip(element, patterns, f"{path}*.", removed) if isinstance(element, (dict, list)) else element
            for element in value
        ]
    return value


ANY = Shape()
