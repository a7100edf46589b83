"""The `fields` argument: `all`, names, dotted paths, `items.*.name`, or the name of a section (FR-017)."""

from collections.abc import Mapping, Sequence
from typing import Any

from context_protection.core import projection
from context_protection.core.errors import InvalidArgument, nearest, shown
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import Shape

ALL = "all"
LISTED_CHARS = 1800
LISTED_NAMES = 150  # valid names that an error lists at most
MOST_NAMES, MOST_CHARS = 500, 20_000  # limits of one request: each name is looked up in every row


def names_in(fields: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in fields.split(",") if name.strip()))


def split(fields: str) -> list[str]:
    """The names in a `fields` argument, each once. Raises InvalidArgument if there are none or too many."""
    names = names_in(fields) if len(fields) <= MOST_CHARS else []
    if len(names) > MOST_NAMES or len(fields) > MOST_CHARS:
        raise InvalidArgument(
            "fields is too long.",
            reason="invalid_fields",
            parameter="fields",
            value=fields,
            expected=f"at most {MOST_NAMES} names, and {MOST_CHARS:,} characters",
            suggestion="Set fields=all, or name sections.",
        )
    if not names:
        raise InvalidArgument(
            "fields is empty.",
            reason="invalid_fields",
            parameter="fields",
            value=fields,
            expected="names separated by commas, a section's name, or all",
            suggestion="Leave fields out for the default answer, or set fields=all.",
        )
    return names


def selected(record: Mapping[str, Any], names: Sequence[str], shape: Shape) -> dict[str, Any]:
    """The requested part of `record`, in the requested order. A canonical name gives the preview's value, an upstream
    name gives upstream's value, a section gives all its fields, and a path gives its value within the structure. Known
    names that this record lacks are absent."""
    if ALL in names:
        return dict(record)
    sections = shape.in_sections(record)
    canonical = {name: each for name, each in shape.canonical.items() if "." not in name}  # a path is its own name
    paths = [name for name in names if not (name in canonical or name in record or name in sections)]
    projected = projection.project(dict(record), projection.wanted(paths))
    chosen: dict[str, Any] = {}
    for name in names:
        if name in canonical:
            chosen[name] = canonical[name].read(record)
        elif name in record:
            chosen[name] = record[name]
        elif name in sections:
            chosen.update((field, record[field]) for field in sections[name])
        elif (top := name.partition(".")[0]) in projected:
            chosen.setdefault(top, projected[top])
    return chosen


def check(names: Sequence[str], records: Sequence[Mapping[str, Any]], shape: Shape) -> None:
    """Raises InvalidArgument for the first name that neither the shape nor any of `records` has."""
    if not records and not shape.names:
        return  # the valid names are unknown
    for name in names:
        if not _known(name, records, shape):
            raise _unknown(name, records, shape)


def _known(name: str, records: Sequence[Mapping[str, Any]], shape: Shape) -> bool:
    return (
        name == ALL
        or name in shape.canonical
        or name in shape.section_names
        or name in shape.known
        or any(
            name in record or name in shape.in_sections(record) or projection.resolves(record, name)
            for record in records
        )
    )


def _unknown(name: str, records: Sequence[Mapping[str, Any]], shape: Shape) -> InvalidArgument:
    upstream = (key for record in records[:1] for key in record)
    offered = dict.fromkeys([*shape.canonical, *shape.section_names, *sorted(upstream)])
    valid = [each for each in offered if not is_secret(each)]
    close = nearest(name, [*valid, *(each for each in shape.known if not is_secret(each))])
    names = ", ".join(str(shown(each)) for each in valid[:LISTED_NAMES])
    listed = names[:LISTED_CHARS] + (" …" if len(valid) > LISTED_NAMES or len(names) > LISTED_CHARS else "")
    return InvalidArgument(
        f"fields names {name[:80]!r}, which does not exist here.",
        reason="unknown_field",
        parameter="fields",
        value=name,
        expected=f"all, or any of: {listed}; below a name with dots, over a list with .*.",
        suggestion=f"Did you mean fields={shown(close)}?" if close else "Set fields=all, or choose from those listed.",
    )
