"""The phases of one call's time, which add up to the total."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telemetry import attempts, wording
from telemetry.attempts import Wait
from telemetry.measurement import Measurement
from telemetry.pages.words import ORIGIN_COLOURS

WIDTH = 1000
NARROWEST = 4  # the least width of a phase, so that even a short one is visible
ROUNDING = 0.1  # ms by which a recorded wait may be too long
SHOWN_SHARE = 0.05  # other waits are a phase only if they take at least this share of the time in upstreams
FAILED, PAUSE = "s5", "s6"

Part = tuple[str, str, float]  # name, colour, ms


@dataclass(frozen=True, slots=True)
class CallPhase:
    """`left` and `width` are on a scale from 0 to WIDTH."""

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
    """The total and the waits for upstreams are measured; the rest is Sluice's own time. None if the total is 0."""
    total = call.latency_ms
    if total <= 0:
        return None
    parts = _of_upstream(call, min(call.upstream_ms, total))
    own = max(0.0, total - sum(ms for _, _, ms in parts))
    parts.append(("Sluice", ORIGIN_COLOURS["sluice"], own))
    return Timeline(wording.milliseconds(total), tuple(_phases(parts, total)))


def _of_upstream(call: Measurement, upstream: float) -> list[Part]:
    """A phase for each request and pause. If they overlapped or were not recorded, one phase for all of them."""
    if not call.upstream:
        return []
    waits = attempts.read(call.waits)
    waited = sum(each.ms for each in waits)
    if not waits or waited > upstream + ROUNDING * len(waits):
        return [(_requests(call), ORIGIN_COLOURS["upstream"], upstream)]
    parts, other = list(_waits(call.upstream, waits)), upstream - waited
    return [*parts, (f"{call.upstream}, other waits", PAUSE, other)] if other >= SHOWN_SHARE * upstream else parts


def _waits(upstream: str, waits: Sequence[Wait]) -> Iterator[Part]:
    requests = 0
    for each in waits:
        if each.status is None:
            yield "pause", PAUSE, each.ms
            continue
        requests += 1
        said = f"status {each.status}" if each.status else "no answer"
        colour = ORIGIN_COLOURS["upstream"] if 200 <= each.status < 400 else FAILED
        yield f"{upstream}, request {requests}, {said}", colour, each.ms


def _requests(call: Measurement) -> str:
    tries = f", {wording.plural(call.attempts, 'request')}" if call.attempts else ", no request"
    return f"{call.upstream}{tries}"


def _phases(parts: Sequence[Part], total: float) -> Iterator[CallPhase]:
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
