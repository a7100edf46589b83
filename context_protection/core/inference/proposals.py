"""What a shape does not declare, proposed from what is known: some records, a schema, or both.

An imported API's types get their rows, previews and sections from here, and so does every record without a declared
shape. The same input always gives the same shape; a single record's depends on that record alone, so that a section
which its preview names is there at the next call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_protection.core.inference import groups
from context_protection.core.inference.names import can_be_a_section
from context_protection.core.inference.rankings import Candidate, Role, ranked
from context_protection.core.inference.samples import Specimen
from context_protection.core.shapes import Field, Shape

ROW_FIELDS, ROW_CHARS = 8, 600  # of compact JSON, on average
PREVIEW_FIELDS, PREVIEW_CHARS = 16, 2400
MOST_RECORDS = 50  # that are looked at
_NOT_IN_ROWS = (Role.TEXT, Role.LINK)


def proposed(records: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> Shape:
    """The shape of a type of which these records are known (as upstream has them), or the JSON Schema of one record,
    or both. A schema's local references point into its own `definitions`, `$defs` or `components`. Never raises."""
    seen, specimen = records[:MOST_RECORDS], Specimen(schema or {})
    described = specimen.record
    unseen = {name: value for name, value in described.items() if not any(name in record for record in seen)}
    row, preview = _fields(seen or [described], specimen)
    sections = groups.sections([*seen, unseen])
    return Shape(row=row, preview=preview, sections=sections, known=frozenset(described))


def completed(shape: Shape, records: Sequence[Mapping[str, Any]]) -> Shape:
    """`shape` with what it does not declare proposed from these records."""
    return _with_sections(with_rows(shape, records), records)


def with_rows(shape: Shape, records: Sequence[Mapping[str, Any]]) -> Shape:
    """`shape` with what rows and previews show, where it does not declare it; a list needs no sections."""
    if shape.canonical:
        return shape
    row, preview = _fields(records[:MOST_RECORDS], Specimen({}))
    return replace(shape, row=row, preview=preview)


def able_to_answer(shape: Shape, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> Shape:
    """`shape`, with sections where it declares none and one of the asked `names` may be one of them."""
    asks_a_section = any(can_be_a_section(name) and not any(name in record for record in records) for name in names)
    return _with_sections(shape, records) if asks_a_section else shape


def _with_sections(shape: Shape, records: Sequence[Mapping[str, Any]]) -> Shape:
    return shape if shape.sections else replace(shape, sections=groups.sections(records[:MOST_RECORDS]))


def _fields(records: Sequence[Mapping[str, Any]], specimen: Specimen) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """A row's, and what a preview adds."""
    best = ranked(records, specimen.required, specimen.enumerations)
    row = _within([each for each in best if each.role not in _NOT_IN_ROWS], ROW_FIELDS, ROW_CHARS)
    preview = _within([each for each in best if each not in row], PREVIEW_FIELDS, PREVIEW_CHARS)
    return _in_order(row), _in_order(preview)


def _within(candidates: Sequence[Candidate], most: int, chars: float) -> list[Candidate]:
    """The first of them that fit, at most so many, into so many characters."""
    kept: list[Candidate] = []
    for each in candidates:
        if len(kept) < most and each.chars <= chars:
            kept.append(each)
            chars -= each.chars
    return kept


def _in_order(candidates: Sequence[Candidate]) -> tuple[Field, ...]:
    return tuple(Field(each.path) for each in sorted(candidates, key=lambda each: each.role))
