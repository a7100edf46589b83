"""The last check of alert rules. The evaluation writes the time into each rule that it has checked."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max

from telemetry.models.alerts import AlertRule


@dataclass(frozen=True, slots=True)
class Checker:
    """`rules`: the number of enabled ones. `checked_at`: the last check of any of them; None: none was ever checked."""

    checked_at: datetime | None = None
    rules: int = 0


def checker() -> Checker:
    return Checker(
        **AlertRule.objects.filter(is_enabled=True).aggregate(checked_at=Max("checked_at"), rules=Count("pk"))
    )
