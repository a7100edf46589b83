"""The tables of telemetry: calls, audited token counts, rejected keys, redacted fields by day, and alerts."""

from datetime import datetime
from typing import Any

from django.db import models
from django.utils import timezone

from telemetry.figure import Figure
from telemetry.measurement import FIGURES, Measurement


def _column(figure: Figure) -> "models.Field[Any, Any]":
    options: dict[str, Any] = {"verbose_name": figure.label, "help_text": figure.help, "db_index": figure.is_indexed}
    if figure.column != figure.field:
        options["db_column"] = figure.column
    if figure.type is datetime:
        return models.DateTimeField(**options)
    options["default"] = figure.default
    if figure.type is bool:
        return models.BooleanField(**options)
    if figure.type is float:
        return models.FloatField(**options)
    if figure.type is int:
        return models.PositiveIntegerField(**options)
    return models.CharField(max_length=figure.max_length, choices=figure.choices, blank=True, **options)


class StoredMeasurement(models.Model):
    """A column for each figure of a Measurement."""

    vars().update({figure.field: _column(figure) for figure in FIGURES.values()})

    class Meta:
        abstract = True


class TelemetryRecord(StoredMeasurement):
    """The figures of one call. Written in batches by telemetry.storage, never changed afterwards."""

    saved_tokens = models.IntegerField(
        "tokens saved, net", help_text="Baseline tokens less tokens sent: a follow-up costs, and is below 0."
    )

    class Meta:
        verbose_name = "call"
        ordering = ("-created_at", "-pk")
        indexes = (
            models.Index(fields=("operation", "created_at"), name="telemetry_operation_time"),
            models.Index(fields=("outcome", "created_at"), name="telemetry_outcome_time"),
            models.Index(fields=("caller", "created_at"), name="telemetry_caller_time"),
        )

    def __str__(self) -> str:
        call = self.measurement
        return f"{call.operation} {call.at:%Y-%m-%d %H:%M:%S} ({call.outcome})"

    @property
    def measurement(self) -> Measurement:
        """The call as it was measured, except for `withheld`."""
        figures = {name: getattr(self, figure.field) for name, figure in FIGURES.items()}
        return Measurement.with_defaults(**figures)


class TokenAudit(models.Model):
    """A response's estimated and actual token counts (FR-014). Written off the hot path, never changed afterwards."""

    class Source(models.TextChoices):
        CTOK = "ctok", "ctok"
        PROVIDER = "provider", "Provider"

    at = models.DateTimeField("time", db_index=True, help_text="When the answer left.")
    operation = models.CharField(max_length=100)
    text_class = models.CharField("class", max_length=32, help_text="What dominates the answer: JSON, log, prose …")
    chars = models.PositiveIntegerField("characters")
    formula_tokens = models.PositiveIntegerField("formula", help_text="Characters / 4 + 20 %.")
    claude_tokens = models.PositiveIntegerField("our count", help_text="Claude's count as it was taken for the answer.")
    actual_tokens = models.PositiveIntegerField("actual", help_text="The full count.")
    source = models.CharField(max_length=16, choices=Source.choices, help_text="Who made the full count.")

    class Meta:
        verbose_name = "token audit"
        ordering = ("-at", "-pk")
        indexes = (models.Index(fields=("text_class", "-at"), name="telemetry_audit_class_time"),)

    def __str__(self) -> str:
        return f"{self.operation} {self.at:%Y-%m-%d %H:%M:%S} ({self.text_class})"


class RejectedKey(models.Model):
    """Rejected keys of one address in one minute. Written by telemetry.rejections."""

    minute = models.DateTimeField("time", help_text="The minute, by its beginning.")
    address = models.CharField(
        max_length=45, help_text='Where the calls came from; "others" are those beyond 1,000 addresses in the minute.'
    )
    transport = models.CharField(max_length=16, db_column="door", help_text="The way the last call came in.")
    hint = models.CharField(
        "key begins with",
        max_length=16,
        blank=True,
        help_text="The first characters of the last key that had a key's form. Empty: none had.",
    )
    attempts = models.PositiveIntegerField(help_text="Calls whose key was refused.")
    last_at = models.DateTimeField("last attempt")

    class Meta:
        verbose_name = "rejected key"
        ordering = ("-minute", "address")
        constraints = (
            models.UniqueConstraint(fields=("minute", "address"), name="telemetry_one_row_per_address_and_minute"),
        )

    def __str__(self) -> str:
        return f"{self.address} {self.minute:%Y-%m-%d %H:%M} ({self.attempts})"


class WithheldField(models.Model):
    """How often a tool's responses redacted a field on one day. Stores the field's path, never its values."""

    class How(models.TextChoices):
        FIELD = "field", "Field withheld"
        PAIR = "pair", "Named value withheld"
        TEXT = "text", "Masked in a text"

    day = models.DateField(db_index=True)
    operation = models.CharField("tool", max_length=100)
    field = models.CharField(max_length=200, blank=True, help_text="Its path, * for any element.")
    kind = models.CharField(max_length=40, help_text="What it is: door code, Wi-Fi password …")
    how = models.CharField(max_length=5, choices=How.choices)
    count = models.PositiveBigIntegerField("times", help_text="Values that answers of this day did not show.")

    class Meta:
        verbose_name = "withheld field"
        ordering = ("-day", "-count", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("day", "operation", "field", "kind", "how"), name="telemetry_one_count_of_a_field_and_day"
            ),
        )

    def __str__(self) -> str:
        return f"{self.operation} {self.field} ({self.kind}), {self.day}"


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
