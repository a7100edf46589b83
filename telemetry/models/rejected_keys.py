"""Rejected keys by address and minute."""

from django.db import models


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
