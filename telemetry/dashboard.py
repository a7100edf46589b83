"""The tiles and charts above the admin's list of calls. They resemble those of the pages, and show the listed calls."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.utils import timezone

from telemetry import audits, queries, wording
from telemetry.call_figures import CallFigures
from telemetry.figure import Figure
from telemetry.measurement import FIGURES
from telemetry.pages.address import Address
from telemetry.pages.call_charts import call_charts
from telemetry.pages.charts import Chart
from telemetry.pages.tiles import Tile
from telemetry.queries.sources import Calls
from telemetry.queries.span import DAY, HOUR, MINUTE

CHARTS = ("outcomes", "tokens", "oversized", "percentiles")


@dataclass(frozen=True, slots=True)
class Dashboard:
    """`charts` is empty without calls."""

    tiles: tuple[Tile, ...]
    charts: tuple[Chart, ...]
    interval: str
    zone: str


def dashboard(*, calls: Calls, since: datetime | None, until: datetime) -> Dashboard:
    """The dashboard of `calls`, which are already limited to [since, until). `since` None: from the first call on."""
    since = since or _first(calls) or until - HOUR
    span = queries.Span.of(since, max(until, since + MINUTE))
    series = queries.series(span, calls=calls)
    figures = queries.totals(span, calls=calls)
    address = Address(path="", now=span.until, range="", since=span.since, until=span.until)
    charts = call_charts(address, figures, series, marks=())
    return Dashboard(
        tiles=_tiles(figures),
        charts=tuple(_without_links(charts[key]) for key in CHARTS) if figures.calls else (),
        interval=_length(series.step),
        zone=timezone.get_current_timezone_name(),
    )


def _first(calls: Calls) -> datetime | None:
    return calls.order_by("created_at").values_list("created_at", flat=True).first()


def _without_links(chart: Chart) -> Chart:
    """Removes the links, because the pages at /telemetry/ have other filters than the admin's list."""
    return replace(chart, lines=tuple(replace(line, link="") for line in chart.lines), calls="", zoom="")


def _tiles(seen: CallFigures) -> tuple[Tile, ...]:
    return (
        _tile("Calls", wording.whole(seen.calls), f"{seen.errors:,} failed ({wording.share(seen.error_share)})"),
        *(_total(figure, seen) for figure in FIGURES.values() if figure.tile),
        _tile(
            "Tokens saved, Claude's count",
            wording.short(seen.tokens_saved),
            f"net: {wording.share(seen.reduction)} of {wording.short(seen.tokens_baseline)}",
        ),
        _tile("Oversized", wording.share(seen.oversized_share), f"{seen.oversized_calls:,} calls over budget"),
        _tile(
            "Pagination adoption",
            wording.share(seen.pagination_adoption),
            f"{seen.paginated_list_calls:,} of {seen.list_calls:,} list calls",
        ),
        _tile(
            "Average response",
            wording.size(seen.average_response_bytes),
            f"{wording.size(seen.bytes_sent)} in all",
        ),
        _tile(
            "Latency p95",
            wording.milliseconds(seen.latency.p95),
            f"p50 {wording.milliseconds(seen.latency.p50)}, p99 {wording.milliseconds(seen.latency.p99)}",
        ),
        _tile(
            "Formula estimate",
            wording.short(seen.totals["estimated_tokens"]),
            f"of tokens sent; Claude's count is {wording.factor(seen.claude_factor)}",
        ),
        _ruler_accuracy(),
    )


def _ruler_accuracy() -> Tile:
    audited = audits.summary()
    if not audited.count:
        return _tile("Ruler accuracy", wording.NOTHING, "no audits yet")
    note = f"Claude's count within 10% of the full count, of {audited.count:,} audits"
    return _tile("Ruler accuracy", wording.share(audited.claude_within), note)


def _total(figure: Figure, seen: CallFigures) -> Tile:
    average = wording.in_unit(seen.average(figure.name), figure.unit)
    total = wording.in_unit(seen.totals[figure.name], figure.unit, number=wording.short)
    return _tile(figure.tile, total, f"{average} per call")


def _tile(label: str, value: str, note: str) -> Tile:
    return Tile(label, value, notes=(note,))


def _length(step: timedelta) -> str:
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if step >= length:
            n = step // length
            return f"{n} {unit}s" if n > 1 else f"1 {unit}"
    return f"{step.total_seconds():g} seconds"
