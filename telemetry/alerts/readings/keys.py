"""The rule on refused keys."""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Sum

from telemetry.alerts import words
from telemetry.alerts.conditions import Reading, RuleCondition
from telemetry.models import RejectedKey

NAMED_ADDRESSES = 3


def read(condition: RuleCondition, now: datetime) -> Sequence[Reading]:
    """Refusals are counted by minute, so the minute in which the window begins counts as a whole."""
    since = (now - condition.window).replace(second=0, microsecond=0)
    rows = RejectedKey.objects.filter(minute__gte=since, minute__lte=now).values_list("address").order_by()
    by_address = sorted(rows.annotate(times=Sum("attempts")), key=lambda row: (-row[1], row[0]))
    total = sum(times for _, times in by_address)
    return [
        Reading(
            subject="",
            value=float(total),
            limit=condition.limit,
            recovery=condition.recovery,
            message=_sentence(condition, total, by_address),
            sample=total,
            affected=total,
        )
    ]


def _sentence(condition: RuleCondition, total: int, by_address: Sequence[tuple[str, int]]) -> str:
    limit, window = words.amount(condition.limit, condition.declared.unit), words.span(condition.window)
    named = ", ".join(f"{address} {times:,}" for address, times in by_address[:NAMED_ADDRESSES])
    counted = f"{words.plural(total, 'call')} in {window} came with a key that is refused (limit {limit})"
    return f"{counted}: {named}." if named else f"{counted}."
