"""The `fields` argument: `all`, `raw`, names, dotted paths, `items.*.name`, or the name of a section (FR-017)."""

from collections.abc import Mapping, Sequence
from typing import Any

from context_protection.core import canonical, projection
from context_protection.core.cached_property import cached_property
from context_protection.core.canonical import WholeRecord
from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.names import meant
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import Shape

ALL = "all"
RAW = "raw"  # upstream's object, unchanged except for masked values
LISTED_NAMES, LISTED_CHARS = 150, 1800  # limits of the valid names that an error lists
MAX_NAMES, MAX_CHARS = 500, 20_000  # limits of one request: each name is looked up in every row


def names_in(fields: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in fields.split(",") if name.strip()))


def split(fields: str) -> list[str]:
    """The names in a `fields` argument, each once; `*` is `all`. Raises InvalidArgument if there are none or too
    many."""
    names = names_in(_listed(fields)) if len(fields) <= MAX_CHARS else []
    if any(name.lower() in (ALL, "*") for name in names):
        names = [ALL]
    if len(names) > MAX_NAMES or len(fields) > MAX_CHARS:
        raise InvalidArgument(
            "fields is too long.",
            reason="invalid_fields",
            parameter="fields",
            value=fields,
            expected=f"at most {MAX_NAMES} names, and {MAX_CHARS:,} characters",
            suggestion="Set fields to all, or use the names of sections.",
        )
    if not names:
        raise InvalidArgument(
            "fields is empty.",
            reason="invalid_fields",
            parameter="fields",
            value=fields,
            expected="names separated by commas, a section's name, or all",
            suggestion="Leave fields out, or set it to all.",
        )
    return names


def _listed(fields: str) -> str:
    """Accepts a JSON list of names too, which some clients send."""
    return fields.strip()[1:-1].replace('"', "") if fields.strip()[:1] == "[" else fields


def wants_raw(names: Sequence[str], shape: Shape) -> bool:
    """Whether `raw` is requested, unless that is the name of a section."""
    return RAW in names and RAW not in shape.section_names


def wants_everything(names: Sequence[str], shape: Shape) -> bool:
    return ALL in names or wants_raw(names, shape)


def selected(record: Mapping[str, Any], names: Sequence[str], shape: Shape) -> WholeRecord:
    """The requested part of upstream's `record`, in the requested order.

    A canonical name gives the canonical value, upstream's name upstream's value, a section all its fields, and a path
    its value within the structure. Valid names that this record does not have are left out."""
    if wants_raw(names, shape):
        return WholeRecord(dict(record))
    if ALL in names:
        return canonical.whole(record, shape)
    return _Selection(record, shape).of(names)


def selected_rows(
    records: Sequence[Mapping[str, Any]], names: Sequence[str], shape: Shape
) -> tuple[list[dict[str, Any]], int]:
    """What `selected` returns for each record: the values, and the number of empty fields that were left out."""
    if wants_raw(names, shape) or (ALL in names and not shape.is_canonical):  # copies, in a loop in C
        return list(map(dict, records)), 0
    chosen = [selected(record, names, shape) for record in records]
    return [each.value for each in chosen], sum(each.empty for each in chosen)


class _Selection:
    """Collects the requested parts of one record."""

    def __init__(self, record: Mapping[str, Any], shape: Shape) -> None:
        self.record, self.shape = record, shape
        self.fields = shape.selectable
        self.chosen: dict[str, Any] = {}
        self.below: dict[str, dict[str, Any]] = {}  # the values of canonical names with a dot, by their first name
        self.empty = 0

    def of(self, names: Sequence[str]) -> WholeRecord:
        projected = projection.project(dict(self.record), projection.wanted(filter(self._is_path, names)))
        for name in names:
            if name in self.fields:
                self._put(name, self.fields[name].read(self.record))
            elif name in self.record:
                self.chosen[name] = self.record[name]
            elif self.shape.section_named(name) in self._sections:
                self._put_section(self._sections[self.shape.section_named(name)])
            elif (top := name.partition(".")[0]) in projected and self._is_free(top):
                self.chosen[top] = projected[top]
        self._join_below()
        return WholeRecord(self.chosen, self.empty)

    def _is_path(self, name: str) -> bool:
        return not (name in self.fields or name in self.record or self.shape.section_named(name) in self._sections)

    def _put(self, name: str, value: Any) -> None:
        """Adds a field. A canonical name with a dot gives an object, as a path does."""
        top, _, rest = name.partition(".")
        if not rest:
            self.chosen[top] = value
            return
        below = self.below.setdefault(top, {})
        below[rest] = value
        self.chosen.setdefault(top, below)

    def _is_free(self, top: str) -> bool:
        return top not in self.chosen or self.chosen[top] is self.below.get(top)

    def _join_below(self) -> None:
        """Joins the values of canonical names with a dot to other values under their first name. They keep their whole
        name where that has no room for them: `price,price.base` gives {"price":90,"price.base":80}."""
        for top, below in self.below.items():
            present = self.chosen[top]
            if self._is_free(top):
                continue
            if isinstance(present, dict) and not present.keys() & below.keys():
                self.chosen[top] = present | below
            else:
                self.chosen |= {f"{top}.{rest}": value for rest, value in below.items()}

    def _put_section(self, names: Sequence[str]) -> None:
        section = {name: self._renamed[name] for name in names}
        pruned = canonical.without_empty_fields(section) if self.shape.is_canonical else WholeRecord(section)
        self.chosen.update(pruned.value)
        self.empty += pruned.empty

    @cached_property
    def _renamed(self) -> dict[str, Any]:
        return canonical.renamed(self.record, self.shape)

    @cached_property
    def _sections(self) -> Mapping[str, Sequence[str]]:
        return self.shape.in_sections(self._renamed)


def resolved(names: Sequence[str], records: Sequence[Mapping[str, Any]], shape: Shape) -> list[str]:
    """The names as the shape or the records spell them; `names` may differ in case or separators. Raises
    InvalidArgument for the first name that neither has."""
    if not records and not shape.names:
        return list(names)  # the valid names are unknown
    found = [_resolved(name, records, shape) for name in names]
    if None in found:
        raise _unknown_field(names, found, records, shape)
    return [name for name in dict.fromkeys(found) if name is not None]


def _resolved(name: str, records: Sequence[Mapping[str, Any]], shape: Shape) -> str | None:
    if _exists(name, records, shape):
        return name
    top, dot, below = name.partition(".")
    offered = [*_offered(records, shape), *shape.selectable]
    same = meant(name, offered) or meant(top, offered)
    if same is None:
        return None
    whole = same if meant(name, [same]) else f"{same}{dot}{below}"
    return whole if _exists(whole, records, shape) else None


def _offered(records: Sequence[Mapping[str, Any]], shape: Shape) -> list[str]:
    """The names that an error may suggest: canonical names, sections, and the names in the first record; without those
    that `fields` would read as other names."""
    upstream = (key for record in records[:1] for key in record)
    offered = dict.fromkeys([*shape.fields, *shape.section_names, *sorted(upstream)])
    return [each for each in offered if _is_offered(each)]


def _is_offered(name: str) -> bool:
    return names_in(_listed(name)) == [name] and not is_secret(name)


def _exists(name: str, records: Sequence[Mapping[str, Any]], shape: Shape) -> bool:
    return (
        name in (ALL, RAW)
        or name in shape.selectable
        or shape.section_named(name) in shape.section_names
        or name in shape.known
        or any(
            name in record
            or shape.section_named(name) in shape.in_sections(canonical.renamed(record, shape))
            or projection.resolves(record, name)
            for record in records
        )
    )


def _unknown_field(
    names: Sequence[str], found: Sequence[str | None], records: Sequence[Mapping[str, Any]], shape: Shape
) -> InvalidArgument:
    """`found`: the resolved names, None for those that do not exist."""
    valid = _offered(records, shape)
    known = [*valid, *filter(_is_offered, shape.known)]
    name = next(name for name, same in zip(names, found, strict=True) if same is None)
    corrected = [same or nearest(each, known) for each, same in zip(names, found, strict=True)]
    instead = ",".join(dict.fromkeys(each for each in corrected if each))
    every = ", ".join(str(shown(each)) for each in valid[:LISTED_NAMES])
    listed = every[:LISTED_CHARS] + (" …" if len(valid) > LISTED_NAMES or len(every) > LISTED_CHARS else "")
    return InvalidArgument(
        f"fields includes {name[:80]!r}, which does not exist here.",
        reason="unknown_field",
        parameter="fields",
        value=name,
        expected=f"all, or any of: {listed}; a.b for a field within a, a.*.b for a field of every element of a.",
        suggestion=f"Set fields to {instead}." if instead else "Set fields to all, or choose from those listed.",
    )
