"""Small drawings as SVG paths: bars and lines that need no script. The page stretches them to their box."""

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000, 100
GAP = 0.12  # the gap between two bars, as a share of a bar's place

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Path:
    d: str
    colour: str  # s1 to s6, and dashed or dotted


@dataclass(frozen=True, slots=True)
class Drawing:
    kind: str  # bars | lines
    paths: tuple[Path, ...]
    box: str = f"0 0 {WIDTH} {HEIGHT}"


def bars(series: Sequence[Values], colours: Sequence[str], *, highest: float = 0) -> Drawing:
    """Stacked bars, the first series lowest. `highest`: the value that fills the height; 0: the highest stack."""
    columns = len(series[0]) if series else 0
    tops = [0.0] * columns
    top = highest or max((sum(filter(None, column)) for column in zip(*series, strict=True)), default=0) or 1
    paths = []
    for values, colour in zip(series, colours, strict=True):
        path = []
        for n, value in enumerate(values):
            if value and value > 0:
                path.append(_bar(n, columns, tops[n] / top, (tops[n] + value) / top))
                tops[n] += value
        paths.append(Path("".join(path), colour))
    return Drawing("bars", tuple(paths))


def polyline(series: Sequence[Values], colours: Sequence[str], *, highest: float = 0) -> Drawing:
    """A line for each series, broken where a value is missing."""
    top = highest or max((value for values in series for value in values if value is not None), default=0) or 1
    return Drawing(
        "lines", tuple(Path(_line(values, top), colour) for values, colour in zip(series, colours, strict=True))
    )


def _bar(n: int, columns: int, low: float, high: float) -> str:
    place = WIDTH / columns
    left, width = place * (n + GAP / 2), place * (1 - GAP)
    return f"M{left:.1f} {HEIGHT * (1 - low):.1f}V{HEIGHT * (1 - high):.1f}h{width:.1f}V{HEIGHT * (1 - low):.1f}z"


def _line(values: Values, top: float) -> str:
    path, is_down = [], False
    for n, value in enumerate(values):
        if value is None:
            is_down = False
            continue
        at = f"{WIDTH * (n + 0.5) / len(values):.1f} {HEIGHT * (1 - value / top):.1f}"
        path.append(f"{'L' if is_down else 'M'}{at}" + ("" if is_down else "h.1"))
        is_down = True
    return "".join(path)
