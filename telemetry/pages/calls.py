"""All calls: bars over time by origin, values to filter by, and the calls themselves, the newest first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from telemetry import queries, wording
from telemetry.call_figures import CallFigures, IntervalFigures, Series
from telemetry.pages import export
from telemetry.pages.address import Address
from telemetry.pages.call_export import export_calls
from telemetry.pages.call_rows import CallRow
from telemetry.pages.charts import Chart, Line, chart
from telemetry.pages.facets import facet_lists
from telemetry.pages.marks import marks
from telemetry.pages.panels import UNREADABLE, guarded
from telemetry.pages.shell import page, show
from telemetry.pages.words import ORIGIN_COLOURS, ORIGINS
from telemetry.queries import Position, RecordPage, Selection, Span
from telemetry.queries.sources import Question
from telemetry.queries.span import DAY
from telemetry.states import State

ANSWERED, UNKNOWN = ("answered", "s3"), ("origin not known", "s5")
TOO_MANY = "Too many calls have this text to be counted over time. Choose 24 hours or less."
OLDER_UNCOUNTED = (
    "Older ones are deleted. The remaining sums cannot be filtered like this, so nothing here counts them."
)
OLDER, NEWER = "before", "after"  # how a cursor begins


@dataclass(frozen=True, slots=True)
class CallPage:
    """A page of the list. `newer` and `older`: links, "" at an end."""

    rows: tuple[CallRow, ...]
    newer: str
    older: str
    total: int
    is_total_exact: bool


@require_safe
@page(default_range="1h", since_first=queries.first_call_at)
def calls(request: HttpRequest, address: Address) -> HttpResponseBase:
    span, selection, text = Span.of(*address.span), address.selection, address.get("q").strip()
    if form := export.wanted(request):
        return export_calls(span, selection, text, form)
    address, cursor = _cursor(address)
    listed = guarded("Calls", lambda: _listed(address, _records(span, selection, text, *cursor)))
    is_countable = not text or span.length <= DAY or (listed.content is not None and listed.content.is_total_exact)
    drawn = guarded("Calls over time", lambda: _chart(address, span, selection, text, is_countable=is_countable))
    is_empty = listed.content is not None and not listed.content.rows
    return show(
        request,
        address,
        "telemetry/calls.html",
        title="Calls",
        state=State.ERROR if listed.failure else None,
        sentence=UNREADABLE if listed.failure else _sentence(address, listed.content, drawn.content),
        notes=_notes(address),
        exports=export.FORMS,
        has_comparison=False,
        text=text,
        drawn=drawn,
        listed=listed,
        # A search for a text reads all calls of the range, which takes long.
        facets=guarded("Values", lambda: facet_lists(address, queries.facets(span, selection, text)))
        if not text or span.length <= DAY
        else None,
        without_text=address.link(q=None),
        unfiltered=_unfiltered(address) if is_empty else None,
        connect=f"{reverse('home')}#connect",
        is_new=is_empty and queries.first_call_at() is None,
        search_form=[pair for pair in address.hidden if pair[0] not in ("q", "cursor")],
    )


# -- The list -----------------------------------------------------------------------------------------


def _records(
    span: Span, selection: Selection, text: str, before: Position | None, after: Position | None
) -> RecordPage:
    return queries.records(span, selection, text=text, before=before, after=after)


def _cursor(address: Address) -> tuple[Address, tuple[Position | None, Position | None]]:
    """The position where the page begins. With an invalid cursor, the newest calls are shown, and the page says so."""
    given = address.get("cursor")
    if not given:
        return address, (None, None)
    way, _, position = given.partition(":")
    try:
        if way not in (OLDER, NEWER):
            raise ValueError(way)
        found = Position.parse(position)
        return address, (found, None) if way == OLDER else (None, found)
    except (ValueError, OverflowError, OSError):
        said = f"cursor={given[:40]} is not a place in the list, so the newest calls are shown."
        return replace(address, problems=(*address.problems, said)), (None, None)


def _listed(address: Address, found: RecordPage) -> CallPage:
    return CallPage(
        rows=tuple(CallRow.of(record.measurement, address) for record in found.records),
        newer=address.link(cursor=f"{NEWER}:{found.newer}") if found.newer else "",
        older=address.link(cursor=f"{OLDER}:{found.older}") if found.older else "",
        total=found.total,
        is_total_exact=found.is_total_exact,
    )


# -- The chart ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Drawn:
    chart: Chart
    errors: int


def _chart(address: Address, span: Span, selection: Selection, text: str, *, is_countable: bool) -> Drawn:
    """`is_countable`: whether counting is fast enough. The matches of a text are counted in the calls themselves,
    because rollups have no texts."""
    within = queries.select(span, selection, text) if text else None
    if is_countable:
        series = queries.series(span, selection, split="origin", calls=within, wanted=queries.COUNTS)
    else:
        series = Series(span.step, tuple(IntervalFigures(start, CallFigures()) for start in span.starts))
    failed = {key: (label, ORIGIN_COLOURS[key]) for key, label in ORIGINS.items()} | {"": UNKNOWN}
    lines = [
        _line(series, *words, partial(_failed, key), address.filtered_by(origin=key) if key else "")
        for key, words in failed.items()
    ]
    lines.append(_line(series, *ANSWERED, _answered, address.filtered_by(outcome="!error")))
    drawn = chart(
        address,
        key="calls",
        title="Calls by origin of the failure",
        unit="count",
        kind="bars",
        lines=lines,
        starts=[bucket.start for bucket in series.buckets],
        step=series.step,
        marks=marks(*address.span),
        calls=address.timeless.link(),
        empty="" if is_countable else TOO_MANY,
    )
    return Drawn(drawn, sum(bucket.figures.errors for bucket in series.buckets))


def _line(series: Series, label: str, colour: str, count: Callable[[IntervalFigures], int], link: str) -> Line:
    values = tuple(count(bucket) for bucket in series.buckets)
    return Line(label, colour, values, total=wording.short(sum(values)), link=link)


def _failed(origin: str, bucket: IntervalFigures) -> int:
    figures = bucket.parts.get(origin)
    return figures.errors if figures is not None else 0


def _answered(bucket: IntervalFigures) -> int:
    return bucket.figures.calls - bucket.figures.errors


# -- Words --------------------------------------------------------------------------------------------


def _sentence(address: Address, listed: CallPage | None, drawn: Drawn | None) -> str:
    if listed is None:
        return ""
    if not listed.total:
        return f"No calls {address.during}." if not _narrowed_by(address) else ""
    if not listed.is_total_exact:
        return f"{wording.whole(listed.total)}+ calls {address.during}."
    if drawn is None or not drawn.errors:
        none = "" if drawn is None else ", none failed"
        return f"{wording.plural(listed.total, 'call')} {address.during}{none}."
    return (
        f"{wording.whole(drawn.errors)} failed of {wording.plural(listed.total, 'call')} {address.during} "
        f"({wording.share(drawn.errors / listed.total)})."
    )


def _notes(address: Address) -> Sequence[str]:
    """A note if the range begins before the oldest stored calls. Calls are deleted earlier than their rollups."""
    kept_since = address.now - timedelta(days=settings.TELEMETRY_RETENTION_DAYS)
    if address.span[0] >= kept_since:
        return ()
    is_summed = not address.get("q").strip() and Question(Span.of(*address.span), address.selection).scope
    return (
        f"Calls are kept for {settings.TELEMETRY_RETENTION_DAYS} days, here since {wording.minute(kept_since)}. "
        + ("Older ones are deleted; the chart and the total still count them." if is_summed else OLDER_UNCOUNTED),
    )


def _narrowed_by(address: Address) -> int:
    """The number of filters, thresholds and searches that narrow the list down."""
    return address.filter_count + bool(address.get("q").strip())


@dataclass(frozen=True, slots=True)
class Unfiltered:
    """The number of calls without the filters, shown if no call matches the filters."""

    filters: int
    calls: str
    link: str


def _unfiltered(address: Address) -> Unfiltered | None:
    count = _narrowed_by(address)
    if not count:
        return None
    every = queries.totals(Span.of(*address.span), wanted=queries.COUNTS).calls
    bare = replace(address, filters=(), others={})
    return Unfiltered(count, wording.whole(every), bare.link())
