"""Sums of calls by minute, hour and day."""

from typing import Any

from django.db import models

from telemetry.measurement import FIGURES
from telemetry.measures import FRACTIONAL, MEASURES


def _dimension(name: str) -> "models.Field[Any, Any]":
    figure = FIGURES[name]
    if figure.type is int:
        return models.PositiveIntegerField(default=0)
    return models.CharField(max_length=figure.max_length, blank=True, default="")


class Level(models.IntegerChoices):
    """The length of a bucket in seconds."""

    MINUTE = 60, "Minute"
    HOUR = 3600, "Hour"
    DAY = 86400, "Day"


class Rollup(models.Model):
    """The sums of the calls in one time bucket that have the same values in the dimensions of a scope. Dimensions
    outside the scope are empty."""

    # The dimensions of each scope. A query uses the first scope with all dimensions that it filters or groups by.
    SCOPES = {
        "all": ("outcome", "origin", "transport"),
        "tool": ("operation", "connector", "upstream", "upstream_status", "outcome", "origin", "error_reason"),
        "caller": ("caller", "client", "transport", "protocol", "outcome", "origin", "arm"),
        "client": ("operation", "upstream", "client", "outcome", "origin"),
        "pair": ("operation", "upstream", "caller", "client", "outcome", "origin"),
    }
    LEVELS_OF_SCOPE = {
        "all": tuple(Level),
        "tool": tuple(Level),
        # In shorter buckets, these would have nearly as many rows as there are calls.
        "caller": (Level.HOUR, Level.DAY),
        "client": (Level.HOUR, Level.DAY),
        "pair": (Level.DAY,),
    }
    DIMENSIONS = tuple(dict.fromkeys(name for names in SCOPES.values() for name in names))

    level = models.PositiveIntegerField(choices=Level.choices)
    scope = models.CharField(max_length=8)
    start = models.DateTimeField()
    vars().update({name: _dimension(name) for name in DIMENSIONS})
    vars().update(
        {
            name: models.FloatField(default=0) if name in FRACTIONAL else models.BigIntegerField(default=0)
            for name in MEASURES
        }
    )
    latency = models.TextField(default="", help_text="A histogram, see telemetry/rollups/histogram.py.")
    upstream_latency = models.TextField(default="", help_text="The histogram of the time in upstreams.")

    class Meta:
        indexes = (
            models.Index(fields=("level", "scope", "start"), name="telemetry_rollup_level_start"),
            models.Index(fields=("scope", "operation", "start"), name="telemetry_rollup_tool"),
            models.Index(fields=("scope", "caller", "start"), name="telemetry_rollup_caller"),
        )

    def __str__(self) -> str:
        return f"{self.scope} {self.start:%Y-%m-%d %H:%M} {self.level} s"


class StaleBucket(models.Model):
    """A bucket whose rollups must be built again. The writer marks a call's minute in the call's own transaction."""

    level = models.PositiveIntegerField(choices=Level.choices)
    start = models.DateTimeField()
    marks = models.PositiveBigIntegerField(default=1)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("level", "start"), name="telemetry_one_mark_per_bucket"),)

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} {self.level} s"
