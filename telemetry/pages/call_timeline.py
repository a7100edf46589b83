"""The phases of one call's time, which add up to the total."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telemetry import wording
from telemetry.measurement import Measurement
from telemetry.pages.words import ORIGIN_COLOURS

WIDTH = 1000
NARROWEST = 4  # of WIDTH, so that every phase that took any time is visible


@dataclass(frozen=True, slots=True)
class CallPhase:
    """`left` and `width` are in parts of WIDTH."""

    name: str
    took: str
    share: str
    colour: str
    left: str
    width: str


@dataclass(frozen=True, slots=True)
class Timeline:
    total: str
    phases: tuple[CallPhase, ...]
    box: str = f"0 0 {WIDTH} 24"


def timeline(call: Measurement) -> Timeline | None:
    """The total and the time in upstreams are measured; the rest is Sluice's. None if nothing took time."""
    total = call.latency_ms
    if total <= 0:
        return None
    upstream = min(call.upstream_ms, total)
    parts = [("Sluice", ORIGIN_COLOURS["sluice"], total - upstream)]
    if call.upstream:
        parts.insert(0, (_requests(call), ORIGIN_COLOURS["upstream"], upstream))
    return Timeline(wording.milliseconds(total), tuple(_phases(parts, total)))


def _requests(call: Measurement) -> str:
    tries = f", {wording.plural(call.attempts, 'request')}" if call.attempts else ", not asked"
    return f"{call.upstream}{tries}"


def _phases(parts: Sequence[tuple[str, str, float]], total: float) -> Iterator[CallPhase]:
    widths = [max(NARROWEST, WIDTH * ms / total) if ms else 0 for _, _, ms in parts]
    scale = WIDTH / sum(widths)
    left = 0.0
    for (name, colour, ms), width in zip(parts, widths, strict=True):
        yield CallPhase(
            name,
            wording.milliseconds(ms),
            wording.share(ms / total),
            colour,
            f"{left:.1f}",
            f"{max(0, width * scale - 2):.1f}",
        )
        left += width * scale
