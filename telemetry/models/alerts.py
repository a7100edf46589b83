"""Conditions that ops should look at."""

from django.db import models
from django.utils import timezone


class Alert(models.Model):
    """A condition that ops should look at, from its first detection until it is over (O4)."""

    class AlertKind(models.TextChoices):
        OVERSIZED_SHARE = "oversized_share", "Too many oversized answers"
        TOKEN_DRIFT = "token_drift", "Token counts drift"

    class State(models.TextChoices):
        OPEN = "open", "Open"
        CLEARED = "cleared", "Cleared"

    kind = models.CharField(max_length=32, choices=AlertKind.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    message = models.CharField(max_length=300, help_text="What was seen last.")
    opened_at = models.DateTimeField("opened", default=timezone.now)
    cleared_at = models.DateTimeField("cleared", null=True, blank=True)
    last_checked_at = models.DateTimeField("last checked", default=timezone.now)
    share = models.FloatField(
        "share at opening", help_text="Oversized calls among all calls, or how far token counts are off, 0 to 1."
    )
    peak_share = models.FloatField("highest share", help_text="The highest share seen while open.")
    threshold_share = models.FloatField("alert line", help_text="The share that must not be exceeded.")
    window_minutes = models.PositiveIntegerField("window in minutes", default=0)
    calls = models.PositiveIntegerField("calls in the window", help_text="Calls, or audits, looked at at opening.")
    oversized_calls = models.PositiveIntegerField("oversized calls", default=0, help_text="In the window, at opening.")

    class Meta:
        ordering = ("-opened_at", "-pk")
        constraints = (
            # Two processes may detect the condition at once; only one of them can open the alert.
            models.UniqueConstraint(
                fields=("kind",), condition=models.Q(state="open"), name="telemetry_one_open_alert_per_kind"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.opened_at:%Y-%m-%d %H:%M} ({self.state})"
