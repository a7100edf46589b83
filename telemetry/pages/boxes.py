"""Box drawings of the errors of a count, beside its target."""

from dataclasses import dataclass

from telemetry.queries.accuracy import Box

WIDTH, HEIGHT = 120, 20
REACH = 0.6  # the error at both ends of the drawing; larger ones are drawn at the end


@dataclass(frozen=True, slots=True)
class BoxDrawing:
    """Positions on the x axis. Whiskers: 10% to 90%; box: 25% to 75%; then the median and the target's two lines."""

    words: str
    left: str
    right: str
    box_left: str
    box_width: str
    median: str
    target_left: str
    target_right: str
    zero: str
    box: str = f"0 0 {WIDTH} {HEIGHT}"


def draw(errors: Box, target: float) -> BoxDrawing:
    return BoxDrawing(
        words=f"80% between {_percent(errors.p10)} and {_percent(errors.p90)}, "
        f"half between {_percent(errors.p25)} and {_percent(errors.p75)}, median {_percent(errors.p50)}",
        left=_x(errors.p10),
        right=_x(errors.p90),
        box_left=_x(errors.p25),
        box_width=f"{max(2, float(_x(errors.p75)) - float(_x(errors.p25))):.1f}",
        median=_x(errors.p50),
        target_left=_x(-target),
        target_right=_x(target),
        zero=_x(0),
    )


def _x(error: float) -> str:
    inside = min(REACH, max(-REACH, error))
    return f"{4 + (WIDTH - 8) * (inside + REACH) / (2 * REACH):.1f}"


def _percent(error: float) -> str:
    return f"{100 * error:+.0f}%".replace("-", "−")
