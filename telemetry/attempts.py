"""The text column with a call's upstream requests and the pauses between them, in order. "2.1:503 310.0 3.0:0" is a
request of 2.1 ms with status 503, a pause of 310 ms, and a request of 3 ms without an answer."""

from collections.abc import Sequence
from dataclasses import dataclass

MOST = 12  # requests and pauses; a call with more records none
LONGEST = 200  # characters


@dataclass(frozen=True, slots=True)
class Wait:
    """A request or a pause. `status`: the HTTP status, 0 for a request without an answer, None for a pause."""

    ms: float
    status: int | None = None


def written(waits: Sequence[Wait]) -> str:
    """Empty if there are more than MOST, because a part of them would not show where the time went."""
    if len(waits) > MOST:
        return ""
    parts = (f"{each.ms:.1f}" if each.status is None else f"{each.ms:.1f}:{each.status}" for each in waits)
    return " ".join(parts)


def read(text: str) -> tuple[Wait, ...]:
    return tuple(map(_wait, text.split()))


def _wait(part: str) -> Wait:
    ms, _, status = part.partition(":")
    return Wait(float(ms), int(status) if status else None)
