"""Proposes the undeclared parts of a shape from some records, a schema, or both.

Provides the rows, previews and sections of an imported API's types, and of every record without a declared shape. The
same input always gives the same shape. The shape of a single record depends on that record alone, so that the sections
in its preview also exist in the next call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from context_protection.core.fields import Field
from context_protection.core.inference import groups
from context_protection.core.inference.rankings import Candidate, Role, ranked
from context_protection.core.inference.samples import SchemaSample
from context_protection.core.name_words import can_be_a_section
from context_protection.core.shapes import Shape

ROW_FIELDS, ROW_CHARS = 10, 600  # limits of a row; characters of compact JSON, on average over the records
PREVIEW_FIELDS, PREVIEW_CHARS = 16, 2400
MAX_RECORDS = 50  # records that are examined
_NOT_IN_ROWS = (Role.TEXT, Role.LINK)


def proposed(records: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None) -> Shape:
    """The shape of a type, from some of its records in upstream's form, the JSON Schema of one record, or both. The
    schema's local references point into its own `definitions`, `$defs` or `components`. Never raises."""
    seen, sample = records[:MAX_RECORDS], SchemaSample(schema or {})
    described = sample.record
    unseen = {name: value for name, value in described.items() if not any(name in record for record in seen)}
    row, preview = _fields(seen or [described], sample)
    sections = groups.sections([*seen, unseen])
    return Shape(row=row, preview=preview, sections=sections, known=frozenset(described))


def completed(shape: Shape, records: Sequence[Mapping[str, Any]]) -> Shape:
    """`shape` with its undeclared parts proposed from these records."""
    return _with_sections(with_rows(shape, records), records)


def with_rows(shape: Shape, records: Sequence[Mapping[str, Any]]) -> Shape:
    """`shape` with proposed row and preview fields, unless it declares its own. A list needs no sections."""
    if shape.canonical:
        return shape
    row, preview = _fields(records[:MAX_RECORDS], SchemaSample({}))
    return replace(shape, row=row, preview=preview)


def with_requested_sections(shape: Shape, names: Sequence[str], records: Sequence[Mapping[str, Any]]) -> Shape:
    """`shape`, with sections if it declares none and one of the requested `names` may be a section."""
    requests_a_section = any(can_be_a_section(name) and not any(name in record for record in records) for name in names)
    return _with_sections(shape, records) if requests_a_section else shape


def _with_sections(shape: Shape, records: Sequence[Mapping[str, Any]]) -> Shape:
    return shape if shape.sections else replace(shape, sections=groups.sections(records[:MAX_RECORDS]))


def _fields(records: Sequence[Mapping[str, Any]], sample: SchemaSample) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """The fields of a row, and those that a preview adds."""
    best = ranked(records, sample.required, sample.enumerations)
    row = _within([each for each in best if each.role not in _NOT_IN_ROWS], ROW_FIELDS, ROW_CHARS)
    preview = _within([each for each in best if each not in row], PREVIEW_FIELDS, PREVIEW_CHARS)
    return _in_order(row), _in_order(preview)


def _within(candidates: Sequence[Candidate], most: int, chars: float) -> list[Candidate]:
    """The first candidates that fit into `most` fields and `chars` characters in total."""
    chosen: list[Candidate] = []
    for each in candidates:
        if len(chosen) < most and each.chars <= chars:
            chosen.append(each)
            chars -= each.chars
    return chosen


def _in_order(candidates: Sequence[Candidate]) -> tuple[Field, ...]:
    return tuple(Field(each.path) for each in sorted(candidates, key=lambda each: each.role))
