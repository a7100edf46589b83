"""The tiles and charts above the list of calls, formatted for display, so that templates contain no logic."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from telemetry import audits, queries, wording
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES, CallFigures, Series
from telemetry.figure import Figure
from telemetry.measurement import FIGURES, CallOutcome
from telemetry.queries.sources import Calls
from telemetry.queries.span import DAY, HOUR, MINUTE

NO_CALLS = "No calls in this range yet — widen the filters, or make a call: it shows here within a second."
TOO_FEW_CALLS = (
    f"Fewer than {MIN_CALLS_FOR_PERCENTILES} calls in each interval — too few for percentiles. "
    "A longer time range has longer intervals."
)


@dataclass(frozen=True, slots=True)
class DashboardTile:
    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class DashboardSeries:
    """One series of a chart; `colour` is a CSS custom property in static/telemetry/telemetry.css."""

    label: str
    colour: str
    values: tuple[float | None, ...]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class DashboardTableRow:
    time: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DashboardChart:
    """A chart that static/telemetry/charts.js draws. `empty`: why there is nothing to draw, else ""."""

    key: str
    title: str
    caption: str
    unit: str  # count | share | ms
    stacked: bool
    lines: tuple[DashboardSeries, ...]
    times: tuple[str, ...]
    ticks: tuple[str, ...]
    empty: str = ""

    @property
    def rows(self) -> tuple[DashboardTableRow, ...]:
        """The same data as a table, for people who cannot use the chart."""
        words = wording.IN_CHART_UNIT[self.unit]
        return tuple(
            DashboardTableRow(time, tuple(words(line.values[n]) for line in self.lines))
            for n, time in enumerate(self.times)
        )


@dataclass(frozen=True, slots=True)
class Dashboard:
    tiles: tuple[DashboardTile, ...]
    charts: tuple[DashboardChart, ...]
    interval: str
    zone: str


def dashboard(*, calls: Calls, since: datetime | None, until: datetime) -> Dashboard:
    """The dashboard of `calls`, which are already limited to [since, until). `since` None: from the first call on."""
    since = since or _first(calls) or until - HOUR
    span = queries.Span.of(since, max(until, since + MINUTE))
    figures = queries.totals(span, calls=calls)
    series = queries.series(span, calls=calls)
    return Dashboard(
        tiles=_tiles(figures),
        charts=_charts(figures, series),
        interval=_length(series.step),
        zone=timezone.get_current_timezone_name(),
    )


def _first(calls: Calls) -> datetime | None:
    return calls.order_by("created_at").values_list("created_at", flat=True).first()


def _tiles(seen: CallFigures) -> tuple[DashboardTile, ...]:
    return (
        DashboardTile(
            "Calls", wording.whole(seen.calls), f"{seen.errors:,} failed ({wording.share(seen.error_share)})"
        ),
        *(_total(figure, seen) for figure in FIGURES.values() if figure.tile),
        DashboardTile(
            "Tokens saved, Claude's count",
            wording.short(seen.tokens_saved),
            f"net: {wording.share(seen.reduction)} of {wording.short(seen.tokens_baseline)}",
        ),
        DashboardTile("Oversized", wording.share(seen.oversized_share), f"{seen.oversized_calls:,} calls over budget"),
        DashboardTile(
            "Pagination adoption",
            wording.share(seen.pagination_adoption),
            f"{seen.paginated_list_calls:,} of {seen.list_calls:,} list calls",
        ),
        DashboardTile(
            "Average response",
            wording.size(seen.average_response_bytes),
            f"{wording.size(seen.bytes_sent)} in all",
        ),
        DashboardTile(
            "Latency p95",
            wording.milliseconds(seen.latency.p95),
            f"p50 {wording.milliseconds(seen.latency.p50)}, p99 {wording.milliseconds(seen.latency.p99)}",
        ),
        DashboardTile(
            "Formula estimate",
            wording.short(seen.totals["estimated_tokens"]),
            f"of tokens sent; Claude's count is {wording.factor(seen.claude_factor)}",
        ),
        _ruler_accuracy(),
    )


def _ruler_accuracy() -> DashboardTile:
    audited = audits.summary()
    if not audited.count:
        return DashboardTile("Ruler accuracy", wording.NOTHING, "no audits yet")
    note = f"Claude's count within 10% of the full count, of {audited.count:,} audits"
    return DashboardTile("Ruler accuracy", wording.share(audited.claude_within), note)


def _total(figure: Figure, seen: CallFigures) -> DashboardTile:
    average = wording.in_unit(seen.average(figure.name), figure.unit)
    return DashboardTile(figure.tile, wording.short(seen.totals[figure.name]), f"{average} per call")


def _charts(seen: CallFigures, series: Series) -> tuple[DashboardChart, ...]:
    alert_line = settings.OVERSIZED_ALERT_SHARE
    return (
        _chart(
            series,
            key="outcomes",
            title="Calls by outcome",
            caption=f"{seen.calls:,} calls, of which {seen.errors:,} failed.",
            unit="count",
            stacked=True,
            lines=(
                DashboardSeries(CallOutcome.PLAIN.label, "--tm-plain", _values(series, lambda f: f.plain)),
                DashboardSeries(CallOutcome.PAGINATED.label, "--tm-paginated", _values(series, lambda f: f.paginated)),
                DashboardSeries(
                    CallOutcome.SUMMARIZED.label, "--tm-summarized", _values(series, lambda f: f.summarized)
                ),
                DashboardSeries(CallOutcome.CHUNKED.label, "--tm-chunked", _values(series, lambda f: f.chunked)),
                DashboardSeries(CallOutcome.ERROR.label, "--tm-error", _values(series, lambda f: f.errors)),
            ),
        ),
        _chart(
            series,
            key="tokens",
            title="Tokens sent and saved, Claude's count",
            caption=f"{wording.share(seen.reduction)} of {wording.short(seen.tokens_baseline)} tokens saved, net.",
            unit="count",
            stacked=True,
            lines=(
                DashboardSeries("Sent", "--tm-sent", _values(series, lambda f: f.tokens_sent)),
                DashboardSeries("Saved", "--tm-saved", _values(series, lambda f: f.tokens_saved)),
            ),
        ),
        _chart(
            series,
            key="oversized",
            title="Oversized answers",
            caption=f"{wording.share(seen.oversized_share)} of the calls would have gone over budget.",
            unit="share",
            stacked=False,
            lines=(
                DashboardSeries("Oversized share", "--tm-oversized", _values(series, lambda f: f.oversized_share)),
                DashboardSeries(
                    f"Alert line ({100 * alert_line:g}%)",
                    "--tm-limit",
                    _values(series, lambda f: alert_line),
                    dashed=True,
                ),
            ),
        ),
        _chart(
            series,
            key="latency",
            title="Latency",
            caption=f"Intervals with fewer than {MIN_CALLS_FOR_PERCENTILES} calls are left out.",
            unit="ms",
            stacked=False,
            lines=(
                DashboardSeries("p50", "--tm-median", _values(series, lambda f: f.latency.p50)),
                DashboardSeries("p95", "--tm-tail", _values(series, lambda f: f.latency.p95), dashed=True),
            ),
        ),
    )


def _values(series: Series, figure: Callable[[CallFigures], float | None]) -> tuple[float | None, ...]:
    return tuple(figure(bucket.figures) for bucket in series.buckets)


def _chart(
    series: Series, *, key: str, title: str, caption: str, unit: str, stacked: bool, lines: tuple[DashboardSeries, ...]
) -> DashboardChart:
    times = tuple(timezone.localtime(bucket.start) for bucket in series.buckets)
    return DashboardChart(
        key=key,
        title=title,
        caption=caption,
        unit=unit,
        stacked=stacked,
        lines=lines,
        times=tuple(wording.minute(time) for time in times),
        ticks=tuple(f"{time:{_tick_format(series)}}" for time in times),
        empty=_why_empty(series, lines),
    )


def _why_empty(series: Series, lines: tuple[DashboardSeries, ...]) -> str:
    if not any(bucket.figures.calls for bucket in series.buckets):
        return NO_CALLS
    return TOO_FEW_CALLS if all(value is None for line in lines for value in line.values) else ""


def _tick_format(series: Series) -> str:
    if series.step >= DAY:
        return "%m-%d"
    return "%H:%M" if series.step * len(series.buckets) <= 1.1 * DAY else "%m-%d %H:%M"


def _length(step: timedelta) -> str:
    for unit, length in (("day", DAY), ("hour", HOUR), ("minute", MINUTE)):
        if step >= length:
            n = step // length
            return f"{n} {unit}s" if n > 1 else f"1 {unit}"
    return f"{step.total_seconds():g} seconds"
