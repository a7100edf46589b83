"""Renders the body of an answer with its budget figures (FR-009, FR-012, FR-013).

`estimatedTokens` is the formula's count of the body that contains the figure itself. The figure is therefore adjusted
until it matches the rendered text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from context_protection.core import meta_texts, tokens
from context_protection.core.cached_property import cached_property
from context_protection.core.policy import Policy, RulerName

# A sampled count may be too low by this factor. Below cap / SAMPLE_MARGIN no full count is needed.
SAMPLE_MARGIN = 1.12 * tokens.MARGIN
# A sampled count may be too high by this factor. Above cap * SAMPLE_EXCESS a full count would exceed the cap as well.
SAMPLE_EXCESS = 1.25
# On most texts, Claude's count is below a sampled count times this factor.
LIKELY_MARGIN = 1.04
# On nearly all texts, Claude's count is below `tokens.typical` times this factor.
TYPICAL_MARGIN = 1.5
# A text whose `tokens.typical` is between a limit times these factors is counted in full at once, because a sample
# would most likely not decide whether it fits.
NEAR_LEAST, NEAR_MOST = 0.8, 1.15
# A tighter upper bound of a body is usually above a simple one divided by this factor.
MOST_TIGHTENED = 2
# Claude's clients move longer results out of the context, whatever their token count, unless the tool declares a
# higher limit.
MAX_CHARS = 49_000
CHARS_A_TOKEN = 4  # characters that each token of a high hard cap allows
# The usual number of characters of the budget figures.
USUAL_FIGURES = 66
# The most characters of an answer if Claude's tokens cannot be counted, whatever the hard cap is.
MAX_UNCOUNTED_CHARS = 9_800
_DUMPS = partial(orjson.dumps, default=str)


@dataclass(frozen=True)
class Body:
    """Compact JSON in UTF-8, with both token counts. `count` computes Claude's count. It is slow, so it is called only
    when the count is needed."""

    data: bytes
    chars: int
    estimated_tokens: int
    count: Callable[[], int]

    @cached_property
    def claude_tokens(self) -> int:
        return self.count()

    def with_tokens(self, more: int) -> "Body":
        """The body, with `more` tokens added to Claude's count."""
        return replace(self, count=lambda: self.claude_tokens + more)

    def fits(self, policy: Policy) -> bool:
        """Whether the body is within the hard cap (law 1)."""
        return self.fill(policy) <= 1

    def fill(self, policy: Policy) -> float:
        """The used share of the hard cap. A body above 1 must not be sent."""
        return max(self.claude_tokens * tokens.MARGIN / policy.hard_cap, self.chars / most_chars(policy))

    def within_threshold(self, policy: Policy) -> bool:
        measured = self.claude_tokens if policy.ruler is RulerName.CLAUDE else self.estimated_tokens
        return measured <= policy.token_budget_threshold


def sampled_tokens(rows: Sequence[bytes]) -> float:
    """Claude's tokens of these rows, written as JSON, which they likely do not exceed. Takes a third of the time of a
    full count."""
    return tokens.claude.estimate((b"[%b]" % b",".join(rows)).decode()) * LIKELY_MARGIN


def surely_within(data: bytes, most: float) -> bool:
    """Whether `data` has at most `most` of Claude's tokens, on nearly all texts, judged without a count."""
    return tokens.typical(data) * TYPICAL_MARGIN <= most


def density(written: bytes, policy: Policy) -> float:
    """Tokens per character of JSON that is to be sent in parts, sampled. The same in every process."""
    if _surely_fits(written, policy):  # it fits into one part at any density
        return tokens.typical(written) / length(written)
    text = written.decode()
    return max(tokens.claude.estimate(text) * tokens.MARGIN / len(text), policy.hard_cap / most_chars(policy))


def most_chars(policy: Policy) -> int:
    """The most characters of an answer. With a raised hard cap the tools declare the higher limit to clients."""
    return max(MAX_CHARS, policy.hard_cap * CHARS_A_TOKEN) if tokens.claude.counts else MAX_UNCOUNTED_CHARS


def dumps(value: Any) -> bytes:
    """Compact JSON. Values without a JSON type, such as dates and decimals, become their text."""
    try:
        return _DUMPS(value)
    except TypeError:  # a key is not a text; allowing that from the start would nearly double the time
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


def dumps_each(values: Sequence[Any]) -> list[bytes]:
    """`dumps` of each value, in a loop in C."""
    try:
        return list(map(_DUMPS, values))
    except TypeError:
        return [dumps(value) for value in values]


def length(data: bytes) -> int:
    """The number of characters of UTF-8 `data`."""
    return len(data) if data.isascii() else len(data.decode())


def lengths(written: Sequence[bytes]) -> list[int]:
    """`length` of each."""
    return list(map(len, written if all(map(bytes.isascii, written)) else map(bytes.decode, written)))


def render(document: Mapping[str, Any], policy: Policy, operation: str, *, meta_key: str = "meta") -> Body:
    """Renders `document` with the three budget figures added to its `meta_key`. That member comes first, so that
    clients which truncate an answer still show it. `operation`: the operation that answers."""
    meta = meta_texts.bounded(document[meta_key], policy.hard_cap)
    head = dumps({meta_key: meta})[:-2] + (b"," if meta else b"")
    others = dict(document)
    del others[meta_key]
    rest = dumps(others)
    tail = (b"," if len(rest) > 2 else b"") + rest[1:]
    other_chars = length(head) + length(tail)
    figures, estimated = _figures(other_chars, policy.token_budget_threshold)
    data = head + figures + tail
    return Body(data, other_chars + len(figures), estimated, partial(_claude_figure, data, policy, operation))


def render_plain(document: Mapping[str, Any], policy: Policy, operation: str) -> Body:
    """Renders `document` as it is, without budget figures."""
    data = dumps(document)
    chars = length(data)
    return Body(data, chars, tokens.formula_of_length(chars), partial(_claude_figure, data, policy, operation))


def _figures(other_chars: int, threshold: int) -> tuple[bytes, int]:
    """The JSON of the figures, for a body with `other_chars` characters besides them, and the tokens they state."""
    shown = tokens.formula_of_length(other_chars + USUAL_FIGURES)
    for _ in range(4):  # the figure counts its own digits; one or two rounds suffice
        figures = _figures_json(shown, threshold)
        estimated = tokens.formula_of_length(other_chars + len(figures))
        if estimated == shown:
            return figures, shown
        shown = estimated
    # The figure alternates between two values. Take the larger one, and pad the body with spaces to match it.
    shown = max(shown, tokens.formula_of_length(other_chars + len(_figures_json(shown, threshold))))
    figures = _figures_json(shown, threshold)
    while tokens.formula_of_length(other_chars + len(figures)) < shown:
        figures = figures[:-1] + b" }"
    return figures, shown


def _figures_json(estimated: int, threshold: int) -> bytes:
    return b'"estimatedTokens":%d,"budgetUsed":%s,"budgetRemaining":%d}' % (
        estimated,
        dumps(round(min(estimated / threshold, 1.0), 4)),
        max(threshold - estimated, 0),
    )


def _claude_figure(data: bytes, policy: Policy, operation: str) -> int:
    """Claude's count of `data`; only an estimate if `data` surely fits the hard cap and the threshold uses the
    formula."""
    if policy.ruler is RulerName.CLAUDE:
        return claude_tokens(data, policy.token_budget_threshold, policy.hard_cap)
    if not _surely_fits(data, policy):
        return claude_tokens(data, policy.hard_cap)
    return min(int(policy.hard_cap / tokens.MARGIN), tokens.learned.tokens(operation, data))


def _surely_fits(data: bytes, policy: Policy) -> bool:
    enough = int(policy.hard_cap / tokens.MARGIN)
    if len(data) > enough * MOST_TIGHTENED:  # the bound of a text is at least its length
        return False
    most = tokens.most_tokens(data)
    if most is None or most > enough * MOST_TIGHTENED:
        return False
    return most <= enough or tokens.tighter_bound(data, most, enough, tokens.claude) <= enough


def claude_tokens(data: bytes, *limits: int) -> int:
    """Claude's count of `data`: a sampled count far from all limits, a full count near one. The same in every
    process."""
    text, typical = data.decode(), tokens.typical(data)
    if any(limit * NEAR_LEAST < typical < limit * NEAR_MOST for limit in limits):
        return tokens.claude.count(text)
    estimate = tokens.claude.estimate(text)
    near = any(limit < estimate * SAMPLE_MARGIN and estimate < limit * SAMPLE_EXCESS for limit in limits)
    return tokens.claude.count(text) if near else estimate
