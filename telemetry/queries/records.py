"""Single calls: the explorer's pages, its facets, and one call with its neighbours."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone

from telemetry import page_memory
from telemetry.measurement import CallOutcome
from telemetry.models.calls import TelemetryRecord
from telemetry.queries.facts import names
from telemetry.queries.selection import Selection
from telemetry.queries.sources import COUNTS, Calls, Question
from telemetry.queries.span import Span
from telemetry.queries.sums import totals
from telemetry.queries.values import Value, values_of

COUNTED = 10_000  # calls; a larger total is given as "10,000+"
FACET_CALLS = 50_000  # the newest calls that facets are counted over
FACETS = ("origin", "reason", "tool", "key", "client", "upstream", "transport", "outcome")
FACET_VALUES = 8


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the list of calls: before or after this call."""

    at: datetime
    pk: int

    def __str__(self) -> str:
        return f"{self.at.timestamp():.6f}-{self.pk}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Raises ValueError."""
        at, _, pk = text.rpartition("-")
        return cls(datetime.fromtimestamp(float(at), tz=timezone.get_default_timezone()), int(pk))


@dataclass(frozen=True, slots=True)
class RecordPage:
    """A page of calls, the newest first. `newer` and `older` are positions to go on from; None at an end."""

    records: tuple[TelemetryRecord, ...]
    newer: Position | None
    older: Position | None
    total: int
    is_total_exact: bool


@dataclass(frozen=True, slots=True)
class Facets:
    """The most frequent values of each dimension with their numbers of calls. `is_sampled`: counted over the newest
    FACET_CALLS only."""

    values: Mapping[str, tuple[tuple[Any, int], ...]]
    is_sampled: bool


def select(span: Span, selection: Selection, text: str = "") -> Calls:
    """The selected calls, unordered. `text`: a request or trace id, or part of an error's text or a tool's name. A
    complete id is found outside the span too."""
    calls = TelemetryRecord.objects.filter(selection.of_calls)
    within = Q(created_at__gte=span.since, created_at__lt=span.until)
    if not text:
        return calls.filter(within).order_by()
    is_id = Q(request_id=text) | Q(trace_id=text)
    if len(text) >= 32 and calls.filter(is_id).exists():
        return calls.filter(is_id).order_by()
    return calls.filter(within, _has(span, text)).order_by()


def _has(span: Span, text: str) -> Q:
    """Each part is fast: ids are indexed, error texts are searched only in the few failed calls, and tools by name."""
    is_id = Q(request_id__startswith=text) | Q(trace_id__startswith=text)
    in_error = Q(error_message__icontains=text) | Q(error_reason__icontains=text)
    tools = page_memory.remembered(("tools", span, text), lambda: names("tool", text, span=span))
    return is_id | Q(in_error, outcome=CallOutcome.ERROR) | (Q(operation__in=tools) if tools else Q())


def records(
    span: Span,
    selection: Selection,
    *,
    text: str = "",
    before: Position | None = None,
    after: Position | None = None,
    size: int = 50,
) -> RecordPage:
    """A page of calls: those before a position (older), after it (newer), or the newest."""
    calls = select(span, selection, text)
    if after is not None:
        later = Q(created_at__gt=after.at) | Q(created_at=after.at, pk__gt=after.pk)
        rows = list(calls.filter(later, created_at__gte=after.at).order_by("created_at", "pk")[: size + 1])
        has_newer, has_older = len(rows) > size, True
        rows = rows[:size][::-1]
    else:
        if before is not None:
            earlier = Q(created_at__lt=before.at) | Q(created_at=before.at, pk__lt=before.pk)
            calls = calls.filter(earlier, created_at__lte=before.at)
        rows = list(calls.order_by("-created_at", "-pk")[: size + 1])
        has_newer, has_older = before is not None, len(rows) > size
        rows = rows[:size]
    total, is_exact = _total(span, selection, text)
    newest, oldest = (_position(rows[0]), _position(rows[-1])) if rows else (None, None)
    return RecordPage(tuple(rows), newest if has_newer else None, oldest if has_older else None, total, is_exact)


@dataclass(frozen=True, slots=True)
class Newer:
    """Calls that were stored after another call, the newest first. `count`: how many there are, up to COUNTED. `last`:
    the primary key of the newest stored call, selected or not."""

    records: tuple[TelemetryRecord, ...]
    count: int
    last: int


def stored_after(pk: int | None, selection: Selection, *, since: datetime, size: int) -> Newer:
    """The calls that were stored after the call `pk`. The order of storing counts, because a call can be stored after
    calls with a later time."""
    calls = TelemetryRecord.objects.filter(created_at__gte=since).order_by("-pk")
    last = calls.values_list("pk", flat=True).first() or pk or 0
    mine = calls.filter(selection.of_calls, pk__lte=last)
    if pk is not None:
        mine = mine.filter(pk__gt=pk)
    newest = sorted(mine[:size], key=lambda record: (record.measurement.at, record.pk), reverse=True)
    return Newer(tuple(newest), len(mine.values_list("pk")[:COUNTED]), last)


def facets(span: Span, selection: Selection, text: str = "") -> Facets:
    """For each dimension, the values among the calls that the filters by other dimensions select. One query reads the
    dimensions without a filter, and one each of the others."""
    filtered = [name for name in FACETS if selection.without(name) != selection]
    free = [name for name in FACETS if name not in filtered]
    parts = [(selection, free), *((selection.without(name), [name]) for name in filtered)]
    found = [values_of(select(span, chosen, text), names, FACET_CALLS) for chosen, names in parts if names]
    counts = [each for values in found for each in values.counts]
    by_dimension = {name: [each for each in counts if each.dimension == name] for name in FACETS}
    return Facets(
        {name: _most_frequent(values) for name, values in by_dimension.items()},
        is_sampled=any(values.calls >= FACET_CALLS for values in found),
    )


def _most_frequent(values: list[Value]) -> tuple[tuple[Any, int], ...]:
    ranked = sorted(values, key=lambda each: (-each.calls, each.value))
    return tuple((each.value, each.calls) for each in ranked[:FACET_VALUES])


def neighbours(record: TelemetryRecord, within: timedelta = timedelta(hours=1)) -> tuple[Any, Any]:
    """The same caller's call before and after this one, within an hour; None where there is none."""
    call, pk = record.measurement, record.pk
    at, calls = call.at, TelemetryRecord.objects.in_figures().filter(caller=call.caller)
    before = calls.filter(Q(created_at__lt=at) | Q(created_at=at, pk__lt=pk), created_at__gte=at - within)
    after = calls.filter(Q(created_at__gt=at) | Q(created_at=at, pk__gt=pk), created_at__lte=at + within)
    return before.order_by("-created_at", "-pk").first(), after.order_by("created_at", "pk").first()


def _total(span: Span, selection: Selection, text: str) -> tuple[int, bool]:
    """The number of calls, and whether it is exact. It comes from rollups if they have the filters' dimensions."""
    if not text and Question(span, selection).scope:
        return totals(span, selection, wanted=COUNTS).calls, True
    counted = len(select(span, selection, text).values_list("pk")[: COUNTED + 1])
    return min(counted, COUNTED), counted <= COUNTED


def _position(record: Any) -> Position:
    return Position(record.created_at, record.pk)
