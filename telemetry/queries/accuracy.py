"""The errors of the two token counts against the full count, over audited answers."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from telemetry.audits import LOOKED_AT, AuditFigures, Pair, figures
from telemetry.models import TokenAudit
from telemetry.queries.span import Span

WORST = 20
FAR_UNDER = 0.10  # our count is lower than the full one by more than this
COLUMNS = ("at", "operation", "text_class", "formula_tokens", "claude_tokens", "actual_tokens")


@dataclass(frozen=True, slots=True)
class Box:
    """Percentiles of the errors of a count; −0.39 is 39% too low."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


@dataclass(frozen=True, slots=True)
class ClassAccuracy:
    """`far_under`: the share of answers whose own count is more than 10% too low."""

    text_class: str
    figures: AuditFigures
    formula: Box
    claude: Box
    far_under: float


@dataclass(frozen=True, slots=True)
class AuditedAnswer:
    at: datetime
    operation: str
    text_class: str
    pair: Pair


@dataclass(frozen=True, slots=True)
class Accuracy:
    """`classes`: the most frequent first. `trend`: start of a bucket → its figures, if it has audits. `worst`: by
    the error of our own count. `is_cut`: only the newest LOOKED_AT answers were looked at."""

    overall: AuditFigures
    classes: tuple[ClassAccuracy, ...]
    trend: dict[datetime, AuditFigures]
    worst: tuple[AuditedAnswer, ...]
    is_cut: bool


def accuracy(span: Span) -> Accuracy:
    audits = TokenAudit.objects.filter(at__gte=span.since, at__lt=span.until, actual_tokens__gt=0)
    rows: Any = audits.order_by("-at", "-pk").values_list(*COLUMNS)[: LOOKED_AT + 1]
    answers = [AuditedAnswer(at, tool, kind, Pair(*counts)) for at, tool, kind, *counts in rows]
    seen = answers[:LOOKED_AT]
    by_class: defaultdict[str, list[Pair]] = defaultdict(list)
    by_time: defaultdict[datetime, list[Pair]] = defaultdict(list)
    for each in seen:
        by_class[each.text_class].append(each.pair)
        by_time[span.bucket(each.at)].append(each.pair)
    ranked = sorted(by_class.items(), key=lambda group: (-len(group[1]), group[0]))
    return Accuracy(
        overall=figures([each.pair for each in seen]),
        classes=tuple(_class(name, pairs) for name, pairs in ranked),
        trend={start: figures(pairs) for start, pairs in by_time.items()},
        worst=tuple(sorted(seen, key=lambda each: -abs(each.pair.claude - 1))[:WORST]),
        is_cut=len(answers) > LOOKED_AT,
    )


def _class(name: str, pairs: Sequence[Pair]) -> ClassAccuracy:
    return ClassAccuracy(
        name,
        figures(pairs),
        _box([pair.formula - 1 for pair in pairs]),
        _box([pair.claude - 1 for pair in pairs]),
        sum(pair.claude < 1 - FAR_UNDER for pair in pairs) / len(pairs),
    )


def _box(errors: Sequence[float]) -> Box:
    if len(errors) == 1:
        return Box(*[errors[0]] * 5)
    cuts = statistics.quantiles(errors, n=20, method="inclusive")  # 5%, 10%, …, 95%
    return Box(cuts[1], cuts[4], cuts[9], cuts[14], cuts[17])
