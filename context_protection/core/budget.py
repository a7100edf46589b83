"""The body that leaves, and its budget figures (FR-009, FR-012, FR-013).

`estimatedTokens` is the seeds' formula over the very body that carries it, so the figures are fitted into
the rendered text until the number describes the text it stands in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from context_protection.core import tokens
from context_protection.core.policy import Policy, Ruler

# The full count may be this far too low: what is near the cap keeps so much distance from it.
MARGIN = 1.03
# A sampled count may be this far too low; below cap / GUARD no full count is needed.
GUARD = 1.12 * MARGIN
# Or it may be this far too high; above cap * BEYOND no full count would bring the body back under the cap.
BEYOND = 1.25
# Claude's clients put longer results aside, whatever their tokens, unless the tool declares more.
MOST_CHARS = 49_000
CHARS_A_TOKEN = 4  # of a body that fills a hard cap above the default


@dataclass(frozen=True, slots=True)
class Body:
    """Rendered compact JSON, UTF-8, with its size by both rulers."""

    data: bytes
    chars: int
    estimated_tokens: int
    claude_tokens: int

    def fits(self, policy: Policy) -> bool:
        """Within the hard cap, which is absolute (law 1)."""
        return self.fill(policy) <= 1

    def fill(self, policy: Policy) -> float:
        """How much of the hard cap is used; above 1 the body must not leave."""
        return max(self.claude_tokens * MARGIN / policy.hard_cap, self.chars / most_chars(policy))

    def within_threshold(self, policy: Policy) -> bool:
        measured = self.claude_tokens if policy.ruler is Ruler.CLAUDE else self.estimated_tokens
        return measured <= policy.token_budget_threshold


def most_chars(policy: Policy) -> int:
    """Characters that an answer may have. Whoever raises the hard cap wants longer answers: their tools declare it."""
    return max(MOST_CHARS, policy.hard_cap * CHARS_A_TOKEN)


def dumps(value: Any) -> bytes:
    """Compact JSON; dates, decimals and other strangers of Python's as their text."""
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


def length(data: bytes) -> int:
    """Characters of UTF-8 `data`."""
    return len(data) if data.isascii() else len(data.decode())


def render(document: Mapping[str, Any], policy: Policy, *, meta_key: str = "meta") -> Body:
    """Renders `document` with the three budget figures added to its `meta_key`, which comes first: an answer says
    what it is before anything else, also where a client shows only its beginning."""
    meta = document[meta_key]
    head = dumps({meta_key: meta})[:-2] + (b"," if meta else b"")
    rest = dumps({name: value for name, value in document.items() if name != meta_key})
    tail = (b"," if len(rest) > 2 else b"") + rest[1:]
    around = length(head) + length(tail)
    figures, estimated = _figures(around, policy.token_budget_threshold)
    data = head + figures + tail
    return Body(data, around + len(figures), estimated, claude_tokens(data, policy.hard_cap))


def _figures(around: int, threshold: int) -> tuple[bytes, int]:
    """The figures' JSON for a body that has `around` characters beside them, and the tokens they say."""
    shown = 0
    for _ in range(4):  # the number's own digits are part of what it counts: settled at the second or third turn
        figures = _written(shown, threshold)
        estimated = tokens.formula_of_length(around + len(figures))
        if estimated == shown:
            return figures, shown
        shown = estimated
    # It swings between two: the larger one, made true by a blank or two.
    shown = max(shown, tokens.formula_of_length(around + len(_written(shown, threshold))))
    figures = _written(shown, threshold)
    while tokens.formula_of_length(around + len(figures)) < shown:
        figures = figures[:-1] + b" }"
    return figures, shown


def _written(estimated: int, threshold: int) -> bytes:
    return b'"estimatedTokens":%d,"budgetUsed":%s,"budgetRemaining":%d}' % (
        estimated,
        dumps(round(min(estimated / threshold, 1.0), 4)),
        max(threshold - estimated, 0),
    )


def claude_tokens(data: bytes, cap: int) -> int:
    """Claude's count of `data`: sampled while it is far from `cap`, in full when it is near."""
    text = data.decode()
    estimate = tokens.claude.estimate(text)
    near = cap < estimate * GUARD and estimate < cap * BEYOND
    return tokens.claude.count(text) if near else estimate
