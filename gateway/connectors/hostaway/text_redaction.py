"""A text of any length without its secrets, at constant memory."""

from collections.abc import Iterable, Iterator

from context_protection.core.redaction import REACH, redact_text

HELD = 1 << 18  # characters that are looked at together, and again with what follows
AHEAD = 2 * REACH  # characters around a cut by which it is known to be one between two masks
TRIES = 50


def redacted_parts(parts: Iterable[str]) -> Iterator[str]:
    """The text that comes in parts, masked just as if it were one, however the parts fall."""
    waiting = ""
    for part in parts:
        waiting += part
        while len(waiting) >= 2 * HELD:
            cut = _cut(waiting)
            yield redact_text(waiting[:cut])[0]
            waiting = waiting[cut:]
    if waiting:
        yield redact_text(waiting)[0]


def _cut(text: str) -> int:
    """Where nothing is masked across: the halves mask as the whole does. Lines' ends are tried first, the last first;
    of a text that is one line, the places between words."""
    for end in ("\n", " "):
        cut = HELD
        for _ in range(TRIES):
            cut = text.rfind(end, AHEAD, cut) + 1
            if not cut:
                break
            before, behind = text[cut - AHEAD : cut], text[cut : cut + AHEAD]
            if redact_text(before + behind)[0] == redact_text(before)[0] + redact_text(behind)[0]:
                return cut
            cut -= 1
    return HELD
