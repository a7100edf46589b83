"""Errors by origin over time, as bars that the server draws: they need no script."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from telemetry import wording
from telemetry.call_figures import IntervalFigures, Series
from telemetry.pages.address import Address
from telemetry.pages.charts import Mark
from telemetry.pages.drawings import WIDTH, Drawing, bars
from telemetry.pages.words import ORIGIN_COLOURS, ORIGINS

TOGETHER = 0.05  # of the width; marks that are closer share one sign


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A line of the legend, in the order of the stack."""

    label: str
    colour: str
    count: str
    link: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bucket with failed calls. `x` and `width` in the drawing's units."""

    x: str
    width: str
    time: str
    words: str
    cells: tuple[str, ...]
    link: str


@dataclass(frozen=True, slots=True)
class Sign:
    """Marks that are close together. `at`: in percent of the width. `lines`: the x of each mark, in the drawing's
    units."""

    at: str
    kinds: str
    words: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OriginBars:
    """`ends`: the first and the last moment. `because_of`: failed calls by the upstream that made them fail."""

    step: str
    drawing: Drawing
    legend: tuple[LegendEntry, ...]
    bars: tuple[Bar, ...]
    signs: tuple[Sign, ...]
    peak: str
    ends: tuple[str, str]
    failed: int
    calls: int
    origins: Mapping[str, int]
    because_of: Mapping[str, int]


def origin_bars(address: Address, series: Series, marks: Sequence[Mark]) -> OriginBars:
    """`series`: split by upstream."""
    buckets = series.buckets
    origins = dict(ORIGINS)
    if any(bucket.figures.origins.get("") for bucket in buckets):
        origins[""] = "not known"
    colours = {**ORIGIN_COLOURS, "": "s5"}
    counts = {name: [bucket.figures.origins.get(name, 0) for bucket in buckets] for name in origins}
    peak = max((bucket.figures.errors for bucket in buckets), default=0)
    place = WIDTH / max(1, len(buckets))
    since, until = buckets[0].start, buckets[-1].start + series.step
    return OriginBars(
        step=wording.length(series.step),
        drawing=bars(list(counts.values()), [colours[name] for name in origins], highest=peak),
        legend=tuple(
            LegendEntry(
                label,
                colours[name],
                wording.whole(sum(counts[name])),
                address.to("calls", origin=name) if name else address.to("calls", outcome="error"),
            )
            for name, label in origins.items()
        ),
        bars=tuple(
            _bar(address, series, origins, n * place, place, bucket)
            for n, bucket in enumerate(buckets)
            if bucket.figures.errors
        ),
        signs=_signs([((mark.at - since) / (until - since), mark) for mark in marks if since <= mark.at < until]),
        peak=wording.whole(peak),
        ends=(wording.clock(since, address.now), wording.clock(until, address.now)),
        failed=sum(bucket.figures.errors for bucket in buckets),
        calls=sum(bucket.figures.calls for bucket in buckets),
        origins={name: sum(values) for name, values in counts.items()},
        because_of={
            name: sum(bucket.parts[name].origins.get("upstream", 0) for bucket in buckets if name in bucket.parts)
            for name in series.values
        },
    )


def _signs(placed: Sequence[tuple[float, Mark]]) -> tuple[Sign, ...]:
    """`placed`: marks with their position, 0 to 1."""
    groups: list[list[tuple[float, Mark]]] = []
    for share, mark in sorted(placed, key=lambda each: each[0]):
        if not groups or share - groups[-1][-1][0] > TOGETHER:
            groups.append([])
        groups[-1].append((share, mark))
    return tuple(map(_sign, groups))


def _sign(group: Sequence[tuple[float, Mark]]) -> Sign:
    return Sign(
        at=f"{100 * (group[0][0] + group[-1][0]) / 2:.2f}",
        kinds="".join(dict.fromkeys(mark.kind for _, mark in group)),
        words="\n".join(f"{mark.time} {mark.text}" for _, mark in group),
        lines=tuple(dict.fromkeys(f"{WIDTH * share:.1f}" for share, _ in group)),
    )


def _bar(
    address: Address, series: Series, origins: dict[str, str], x: float, width: float, bucket: IntervalFigures
) -> Bar:
    figures = bucket.figures
    since, until = address.span
    within = address.at(max(since, bucket.start), min(until, bucket.start + series.step))
    parts = [f"{label} {figures.origins[name]}" for name, label in origins.items() if figures.origins.get(name)]
    time = wording.moment(bucket.start)
    return Bar(
        f"{x:.1f}",
        f"{width:.1f}",
        time,
        f"{time}: {figures.errors} of {wording.plural(figures.calls, 'call')} failed ({', '.join(parts)})",
        tuple(wording.whole(figures.origins.get(name, 0)) for name in origins),
        within.to("calls", outcome="error"),
    )
