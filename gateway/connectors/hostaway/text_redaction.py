"""Redacts the secrets of a text of any length, in constant memory."""

from collections.abc import Iterable, Iterator

from context_protection.core.redaction import REACH, redact_text

HELD = 1 << 18  # characters of a part at most; the last part may have almost twice as many
AHEAD = 2 * REACH  # characters checked on each side of a cut for a secret that it would split
TRIES = 50


def redacted_parts(parts: Iterable[str]) -> Iterator[str]:
    """The redacted text in parts. Joined, they are the same as the whole text redacted at once, however the input is
    divided, provided that `_cut` finds safe positions."""
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
    """A position that no secret crosses: redacting both sides separately gives the same as redacting them together.
    Line ends are tried first, from the last one backwards; then spaces. HELD if none of them is safe."""
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
