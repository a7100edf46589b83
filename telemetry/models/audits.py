"""Audited token counts."""

from django.db import models


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
