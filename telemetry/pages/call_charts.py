"""The six charts of a group of calls."""

from collections.abc import Callable, Sequence
from functools import partial

from django.conf import settings

from telemetry import wording
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES, CallFigures, Series
from telemetry.pages.address import Address
from telemetry.pages.charts import Chart, Line, Mark, chart
from telemetry.pages.words import ORIGIN_COLOURS, ORIGINS

Figure = Callable[[CallFigures], float | None]
OUTCOMES = (
    ("plain", "Whole", "s6"),
    ("paginated", "Paged", "s1"),
    ("summarized", "Summarised", "s3"),
    ("chunked", "Chunked", "s2"),
    ("error", "Failed", "s5"),
)


def call_charts(address: Address, seen: CallFigures, series: Series, marks: Sequence[Mark]) -> dict[str, Chart]:
    """The charts by key: outcomes, origins, means, percentiles, tokens, oversized."""
    draw = partial(
        chart, address, starts=[bucket.start for bucket in series.buckets], step=series.step, marks=tuple(marks)
    )
    line = partial(_line, series)
    timeless = address.timeless
    limit = settings.OVERSIZED_ALERT_SHARE
    drawn = (
        draw(
            key="outcomes",
            title="Calls by outcome",
            unit="count",
            kind="bars",
            calls=timeless.to("calls"),
            lines=[
                line(
                    label,
                    colour,
                    partial(_outcome, key),
                    total=wording.short(_outcome(key, seen)),
                    link=address.to("calls", outcome=key),
                )
                for key, label, colour in OUTCOMES
            ],
        ),
        draw(
            key="origins",
            title="Errors by origin",
            unit="count",
            kind="bars",
            calls=timeless.to("calls", outcome="error"),
            lines=[
                line(
                    label,
                    ORIGIN_COLOURS[key],
                    partial(_origin, key),
                    total=wording.short(_origin(key, seen)),
                    link=address.to("calls", origin=key) if key else "",
                )
                for key, label in (*ORIGINS.items(), ("", "unknown"))
            ],
            empty="No call failed in this range." if seen.calls and not seen.errors else "",
        ),
        draw(
            key="means",
            title="Mean time: upstream + Sluice",
            unit="ms",
            kind="bars",
            calls=timeless.to("calls"),
            lines=[
                line("upstream", "s2", lambda f: f.upstream_ms),
                line("Sluice", "s4", lambda f: f.gateway_ms),
            ],
        ),
        draw(
            key="percentiles",
            title="Time, percentiles",
            caption=f"Intervals with fewer than {MIN_CALLS_FOR_PERCENTILES} calls are left out.",
            unit="ms",
            kind="lines",
            is_log=True,
            calls=timeless.to("calls"),
            lines=[
                line("p50", "s1", lambda f: f.latency.p50),
                line("p95", "s2", lambda f: f.latency.p95, dash="dashed"),
                line("p99", "s5", lambda f: f.latency.p99, dash="dotted"),
            ],
        ),
        draw(
            key="tokens",
            title="Tokens sent and saved",
            unit="count",
            kind="bars",
            calls=timeless.to("calls"),
            lines=[
                line("Sent", "s1", lambda f: f.tokens_sent, total=wording.short(seen.tokens_sent)),
                line("Saved", "s3", lambda f: f.tokens_saved, total=wording.short(seen.tokens_saved)),
            ],
        ),
        draw(
            key="oversized",
            title="Oversized share",
            unit="share",
            kind="lines",
            calls=timeless.to("calls"),
            limit=limit,
            limit_label=f"limit {wording.share(limit)}",
            lines=[line("Oversized", "s1", lambda f: f.oversized_share)],
            empty="No answer was over its budget." if seen.calls and not seen.oversized_calls else "",
        ),
    )
    return {each.key: each for each in drawn}


def _line(series: Series, label: str, colour: str, figure: Figure, **more: str) -> Line:
    return Line(label, colour, tuple(figure(bucket.figures) for bucket in series.buckets), **more)


def _outcome(key: str, figures: CallFigures) -> int:
    return figures.outcomes.get(key, 0)


def _origin(key: str, figures: CallFigures) -> int:
    return figures.origins.get(key, 0)
