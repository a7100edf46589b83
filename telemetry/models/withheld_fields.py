"""Redacted fields by day."""

from django.db import models


class WithheldField(models.Model):
    """The number of redacted values of a field in a tool's responses on one day. Stores the field's path, never its
    values."""

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
