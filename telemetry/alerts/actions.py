"""What people can do with an alert: acknowledge it, silence it, end the silence. Its history shows each action."""

from datetime import UTC, datetime, timedelta

from django.db import transaction

from telemetry.models.alerts import Alert, AlertTransition

LONGEST_SILENCE = timedelta(days=7)
LONGEST_NOTE = 300


def acknowledge(alert: Alert, *, by: str, note: str, now: datetime) -> None:
    """Records who handles the alert. Its notifications stop, including those that wait for another attempt."""
    note = note.replace("\0", "").strip()[:LONGEST_NOTE]  # Postgres stores no NUL
    _changed(
        alert,
        AlertTransition.What.ACKNOWLEDGED,
        message=note,
        by=by,
        now=now,
        acknowledged_by=by,
        acknowledged_at=now,
        note=note,
    )


def silence(alert: Alert, *, by: str, until: datetime, now: datetime) -> None:
    """Raises ValueError for a time that has passed, or is more than LONGEST_SILENCE away."""
    end = f"{until.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if not now < until <= now + LONGEST_SILENCE:
        raise ValueError(f"until={end} is not within the next 7 days. Choose a time that is.")
    what = AlertTransition.What.SILENCED
    _changed(alert, what, message=f"until {end}", by=by, now=now, silenced_by=by, silenced_until=until)


def end_silence(alert: Alert, *, by: str, now: datetime) -> None:
    what = AlertTransition.What.UNSILENCED
    _changed(alert, what, message="", by=by, now=now, silenced_by="", silenced_until=None)


@transaction.atomic
def _changed(alert: Alert, what: str, *, message: str, by: str, now: datetime, **fields: object) -> None:
    """Writes only `fields`, because the evaluation may be writing the others."""
    for name, value in fields.items():
        setattr(alert, name, value)
    Alert.objects.filter(pk=alert.pk).update(**fields)
    AlertTransition.objects.create(alert=alert, at=now, what=what, value=alert.value, message=message, by=by)
