"""Charts over time. static/telemetry/pages/charts.js draws them. Without scripts, the page shows an SVG drawing and the
figures as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from telemetry import wording
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES
from telemetry.models import Event
from telemetry.pages.address import Address, written
from telemetry.pages.drawings import Drawing, bars, polyline
from telemetry.pages.ticks import ticks

SHORT: dict[str, Callable[[float | None], str]] = {**wording.IN_CHART_UNIT, "count": wording.short}
TOO_FEW = (
    f"Too few calls for percentiles in each interval ({MIN_CALLS_FOR_PERCENTILES} needed). "
    "A longer range has longer intervals."
)
NO_CALLS = "No calls in this range."


@dataclass(frozen=True, slots=True)
class Line:
    """One series. `colour`: s1 to s6 of tokens.css. `total`: its figure in the legend. `link`: the link of its name."""

    label: str
    colour: str
    values: tuple[float | None, ...]
    dash: str = ""  # dashed | dotted
    total: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """An event on the time axis, of one of the kinds C change, D deployment, B breaker, F tool list, A alert."""

    at: datetime
    kind: str
    text: str
    link: str = ""

    @property
    def kind_word(self) -> str:
        return str(Event.EventKind(self.kind).label)

    @property
    def time(self) -> str:
        return wording.moment(self.at)

    @property
    def clock(self) -> str:
        """14:02, or with its date if that is not today."""
        return wording.clock(self.at, timezone.now())


@dataclass(frozen=True, slots=True)
class Row:
    time: str
    link: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """`kind`: bars (stacked) or lines. `limit`: a dashed line at this value. `empty`: why there is nothing to draw.
    `calls`: the address of the calls behind it, without a time; "" if the page does not exist. `span`: whole intervals.
    `within`: the range of the page, which may begin or end inside an interval; calls outside it are in no figure."""

    key: str
    title: str
    unit: str
    kind: str
    lines: tuple[Line, ...]
    starts: tuple[datetime, ...]
    step: timedelta
    span: tuple[datetime, datetime]
    within: tuple[datetime, datetime]
    marks: tuple[Mark, ...] = ()
    caption: str = ""
    limit: float | None = None
    limit_label: str = ""
    is_log: bool = False
    empty: str = ""
    calls: str = ""
    zoom: str = ""
    has_legend: bool = False

    @property
    def data_id(self) -> str:
        return f"chart-data-{self.key}"

    @property
    def rows(self) -> list[Row]:
        words = wording.IN_CHART_UNIT[self.unit]
        return [
            Row(time, self._calls_of(n), tuple(words(line.values[n]) for line in self.lines))
            for n, time in enumerate(self.times)
        ]

    @property
    def times(self) -> list[str]:
        return [wording.moment(start) for start in self.starts]

    @property
    def peak(self) -> str:
        return SHORT[self.unit](self._highest)

    @property
    def ends(self) -> tuple[str, str]:
        return wording.minute(self.span[0]), wording.minute(self.span[1])

    @property
    def drawing(self) -> Drawing:
        values = [line.values for line in self.lines]
        colours = [f"{line.colour} {line.dash}".strip() for line in self.lines]
        if self.kind == "bars":
            return bars(values, colours, highest=self._highest)
        if self.limit is not None:
            values, colours = [*values, (self.limit,) * len(self.starts)], [*colours, "limit dashed"]
        return polyline(values, colours, highest=max(self._highest, self.limit or 0))

    @property
    def payload(self) -> dict[str, Any]:
        """The data for charts.js. Times are in ms since 1970."""
        return {
            "key": self.key,
            "title": self.title,
            "unit": self.unit,
            "kind": self.kind,
            "log": self.is_log,
            "limit": self.limit,
            "limitLabel": self.limit_label,
            "step": self.step.total_seconds() * 1000,
            "span": [_ms(moment) for moment in self.span],
            "within": [_ms(moment) for moment in self.within],
            "starts": [_ms(start) for start in self.starts],
            "times": self.times,
            "ticks": [(_ms(at), text) for at, text in ticks(*self.span)],
            "lines": [
                {"label": line.label, "colour": f"--sl-{line.colour}", "values": line.values, "dash": line.dash}
                for line in self.lines
            ],
            "marks": [
                {"at": _ms(mark.at), "kind": mark.kind, "text": mark.text, "time": mark.time} for mark in self.marks
            ],
            "calls": self.calls,
            "zoom": self.zoom,
        }

    @property
    def _highest(self) -> float:
        if self.kind == "bars":
            return max((sum(filter(None, column)) for column in self._columns), default=0)
        return max((value for column in self._columns for value in column if value is not None), default=0)

    @property
    def _columns(self) -> list[tuple[float | None, ...]]:
        return list(zip(*(line.values for line in self.lines), strict=True))

    def _calls_of(self, n: int) -> str:
        if not self.calls:
            return ""
        joint = "&" if "?" in self.calls else "?"
        start, end = self.starts[n], self.starts[n] + self.step
        since, until = max(start, self.within[0]), min(end, self.within[1])
        return f"{self.calls}{joint}from={written(since)}&to={written(until)}"


def chart(
    address: Address,
    *,
    key: str,
    title: str,
    unit: str,
    kind: str,
    lines: Sequence[Line],
    starts: Sequence[datetime],
    step: timedelta,
    marks: Sequence[Mark] = (),
    empty: str = "",
    **more: Any,
) -> Chart:
    """A chart of the page's span. It leaves out lines without any value, and bar series that are always 0, unless no
    other is left."""
    has_legend = len(lines) > 1 or bool(more.get("limit_label"))
    has_values = any if kind == "bars" else _are_known
    lines = tuple(line for line in lines if has_values(line.values)) or tuple(lines)
    since, until = address.span
    return Chart(
        key=key,
        title=title,
        unit=unit,
        kind=kind,
        lines=lines,
        starts=tuple(starts),
        step=step,
        span=(min(since, *starts[:1]), max(until, *(start + step for start in starts[-1:]))),
        within=(since, until),
        marks=tuple(marks),
        zoom=address.timeless.link(),
        empty=empty or why_empty(lines, kind),
        has_legend=has_legend,
        **more,
    )


def _are_known(values: Sequence[float | None]) -> bool:
    return any(value is not None for value in values)


def why_empty(lines: Sequence[Line], kind: str) -> str:
    values = [value for line in lines for value in line.values]
    if any(values):
        return ""
    return TOO_FEW if kind == "lines" and all(value is None for value in values) else NO_CALLS


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
