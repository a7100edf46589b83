"""Sample records of an operation, as far as they are available without calling an upstream. They show which fields
exist."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_protection.core import field_selection
from context_protection.core.errors import CallError, InvalidArgument, nearest
from context_protection.core.payloads import Record, Rows
from context_protection.core.policy import Kind
from context_protection.core.redaction import POLICY, Visibility, is_secret, redact
from context_protection.core.shapes import ANY, Shape
from context_protection.core.withheld_fields import under_all_names
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import NativeResult, Operation
from gateway.replay import STAFF
from gateway.staff.preview import sources
from gateway.staff.preview.answers import PreviewSource
from gateway.staff.preview.recorded_calls import recorded_calls, source_of

RECORDS = 20
LISTED = 3  # names that a problem lists


@dataclass(frozen=True, slots=True)
class Sample:
    """`records`: as the API sends them, masked; empty if none is available."""

    records: Sequence[Mapping[str, Any]] = ()
    shape: Shape = ANY

    @property
    def names(self) -> list[str]:
        """The names that `fields` and short answers can have, without those of secrets."""
        found = dict.fromkeys([*self.shape.names, *(name for record in self.records for name in record)])
        return [name for name in found if not is_secret(name)]


def sample_of(operation: Operation) -> Sample:
    """Blocks; calls no upstream."""
    try:
        source = _source(operation)
        return Sample((), operation.shape) if source is None else _first(source, operation.shape)
    except CallError:
        return Sample((), operation.shape)


def unknown_field(name: str, operation: Operation, sample: Sample) -> str:
    """What is wrong with a name for `fields`; "" if the records have it, or no record is available."""
    try:
        field_selection.resolved([name], sample.records, sample.shape)
    except InvalidArgument:
        close = nearest(name, sample.names)
        shown = [*([close] if close else []), *(each for each in sample.names if each != close)][:LISTED]
        return f"“{name}” is not a field of {operation.name}. Known: {', '.join(shown)} … ({len(sample.names)})."
    return ""


def without_field(names: Iterable[str], operations: Iterable[Operation]) -> list[str]:
    """The names that no field of these operations has, as far as fields can be known without calling an upstream.
    Blocks."""
    samples = [sample_of(each) if not each.is_async else Sample((), each.shape) for each in operations]
    return [name for name in names if not any(_has(sample, name) for sample in samples)]


def _has(sample: Sample, name: str) -> bool:
    visibility = Visibility(withheld=frozenset({name}))
    if any(visibility.withholds(each.split(".")) for each in (*sample.shape.names, *sample.shape.selectable)):
        return True
    _, found = redact(list(sample.records), under_all_names(visibility, sample.shape))
    return any(each.kind == POLICY for each in found)


def _source(operation: Operation) -> PreviewSource | None:
    """Raises CallError."""
    if operation.is_async:
        calls = recorded_calls(operation, may_see_values=True)
        stored = next((call for call in calls if call.snapshot is not None), None)
        return None if stored is None else source_of(operation, stored)
    if operation.kind is Kind.RECORD:
        of_rows = next((each for each in catalogue if each.record_operation == operation.name), None)
        return _source(of_rows) if of_rows is not None and of_rows.record_is_row and not of_rows.is_async else None
    if operation.kind is not Kind.LIST or operation.required:
        return None
    return sources.read_again(operation, {}, STAFF)


def _first(source: PreviewSource, shape: Shape) -> Sample:
    """Raises CallError."""
    payload = source.payload
    if isinstance(payload, Record):
        return Sample([payload.value], shape)
    if isinstance(payload, NativeResult) or not isinstance(payload, Rows):
        return Sample((), shape)
    opening = payload.open()
    rows = payload.page(opening.plan, None, None, RECORDS).whole(RECORDS)
    return Sample(rows, payload.shape if shape is ANY else shape)
