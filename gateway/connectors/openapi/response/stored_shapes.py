"""The shape of an operation's responses, as JSON: proposed from a schema, learned from responses, edited by ops."""

from collections.abc import Mapping, Sequence
from typing import Any

from context_protection.core.fields import Field
from context_protection.core.json_values import storable
from context_protection.core.shapes import Section, Shape


def document_of(shape: Shape) -> dict[str, Any]:
    """{"row": [names], "preview": [names], "sections": {name: [patterns]}, "known": [names]}"""
    document: dict[str, Any] = storable(
        {
            "row": [field.name for field in shape.row],
            "preview": [field.name for field in shape.preview],
            "sections": {section.name: list(section.patterns) for section in shape.sections},
            "known": sorted(shape.known),
        }
    )
    return document


def shape_of(
    name: str,
    document: Mapping[str, Any],
    *,
    row: Sequence[str] = (),
    preview: Sequence[str] = (),
    sections: Any = None,
) -> Shape:
    """The shape in `document`. `row`, `preview` and `sections`, as set by ops, take precedence."""
    chosen = document.get("sections", {}) if sections is None else sections
    return Shape(
        name=name,
        row=_fields(row or document.get("row", ())),
        preview=_fields(preview or document.get("preview", ())),
        sections=tuple(Section(name, tuple(patterns)) for name, patterns in chosen.items()),
        known=frozenset(document.get("known", ())),
        fills_pages=True,
    )


def are_sections(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(patterns, list) and all(isinstance(each, str) and each for each in patterns)
        for patterns in value.values()
    )


def _fields(names: Sequence[str]) -> tuple[Field, ...]:
    return tuple(Field(name) for name in dict.fromkeys(names))
