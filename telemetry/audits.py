"""The accuracy of token counts: pairs of the reported and the actual count (FR-014)."""

import logging
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import QuerySet

from telemetry import counters
from telemetry.models import TokenAudit
from telemetry.storage import release_connection

Audits = QuerySet[TokenAudit]

LOOKED_AT = 5_000  # the newest audits; older ones say little about the present
FORMULA_TOLERANCE = 0.20
CLAUDE_TOLERANCE = 0.10
WORTH_A_LINE = 0.30  # a larger relative error of the formula is logged (E3)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Audit:
    """The counts of one response, in tokens."""

    at: datetime  # aware, UTC
    operation: str
    text_class: str  # the dominant content: JSON, log, prose …
    chars: int
    formula_tokens: int  # characters / 4 + 20 %
    claude_tokens: int  # Claude's count as computed for the response
    actual_tokens: int  # the full count
    source: str  # source of the full count: ctok | provider


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """The figures of a group of audits. Shares are 0 to 1. Ratios are count / actual, so 1 is exact. None where there
    is nothing to measure."""

    count: int
    formula_within: float | None  # share of formula counts within 20 % of the actual ones
    formula_ratio: float | None  # median
    claude_within: float | None  # share of our counts within 10 %
    claude_ratio: float | None  # median


@dataclass(frozen=True, slots=True)
class ClassFigures:
    text_class: str
    figures: AuditFigures


@dataclass(frozen=True, slots=True)
class Pair:
    """The formula's count, Claude's count, and the actual one (above 0)."""

    formula_tokens: int
    claude_tokens: int
    actual_tokens: int

    @property
    def formula(self) -> float:
        return self.formula_tokens / self.actual_tokens

    @property
    def claude(self) -> float:
        return self.claude_tokens / self.actual_tokens

    @property
    def formula_is_close(self) -> bool:
        return abs(self.formula_tokens - self.actual_tokens) <= FORMULA_TOLERANCE * self.actual_tokens

    @property
    def claude_is_close(self) -> bool:
        return abs(self.claude_tokens - self.actual_tokens) <= CLAUDE_TOLERANCE * self.actual_tokens


def store(audit: Audit) -> None:
    """Saves one audit, and logs it if the formula was more than 30 % off. Raises DatabaseError."""
    try:
        TokenAudit.objects.create(**{**asdict(audit), "operation": audit.operation[:100]})
    finally:
        release_connection()
    pair = Pair(audit.formula_tokens, audit.claude_tokens, audit.actual_tokens)
    counters.count_audit(claude_is_close=pair.claude_is_close, estimate_is_close=pair.formula_is_close)
    if abs(audit.formula_tokens - audit.actual_tokens) > WORTH_A_LINE * audit.actual_tokens:
        logger.info("token estimate is far off", extra=_fields(audit))


def _fields(audit: Audit) -> dict[str, object]:
    return {
        "operation": audit.operation,
        "text_class": audit.text_class,
        "formula_tokens": audit.formula_tokens,
        "claude_tokens": audit.claude_tokens,
        "actual_tokens": audit.actual_tokens,
        "source": audit.source,
    }


def summary(audits: Audits | None = None) -> AuditFigures:
    """The figures of the newest 5,000 of `audits` (default: of all audits)."""
    return figures([pair for _, pair in _newest(audits)])


def by_class(audits: Audits | None = None) -> tuple[ClassFigures, ...]:
    """The same figures for each class, the class with the most audits first."""
    groups: defaultdict[str, list[Pair]] = defaultdict(list)
    for text_class, pair in _newest(audits):
        groups[text_class].append(pair)
    ranked = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return tuple(ClassFigures(text_class, figures(pairs)) for text_class, pairs in ranked)


def newest_of_class(text_class: str, count: int) -> list[Pair]:
    return [pair for _, pair in _newest(TokenAudit.objects.filter(text_class=text_class), count)]


def classes() -> Iterable[str]:
    return TokenAudit.objects.order_by("text_class").values_list("text_class", flat=True).distinct()


def figures(pairs: Sequence[Pair]) -> AuditFigures:
    if not pairs:
        return AuditFigures(0, None, None, None, None)
    return AuditFigures(
        count=len(pairs),
        formula_within=sum(pair.formula_is_close for pair in pairs) / len(pairs),
        formula_ratio=statistics.median(pair.formula for pair in pairs),
        claude_within=sum(pair.claude_is_close for pair in pairs) / len(pairs),
        claude_ratio=statistics.median(pair.claude for pair in pairs),
    )


def _newest(audits: Audits | None, count: int = LOOKED_AT) -> list[tuple[str, Pair]]:
    audits = TokenAudit.objects.all() if audits is None else audits
    rows = audits.filter(actual_tokens__gt=0).order_by("-at", "-pk")
    columns = rows.values_list("text_class", "formula_tokens", "claude_tokens", "actual_tokens")
    return [(name, Pair(*counts)) for name, *counts in columns[:count]]
