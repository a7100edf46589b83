"""The table of recorded calls, with a column for each figure of a Measurement."""

from datetime import datetime
from typing import Any

from django.db import models

from telemetry.figure import Figure
from telemetry.measurement import FIGURES, OUTSIDE_FIGURES, Measurement


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
    """The columns, as telemetry.measurement declares them."""

    vars().update({figure.field: _column(figure) for figure in FIGURES.values()})

    class Meta:
        abstract = True


class CallQuerySet(models.QuerySet["TelemetryRecord"]):
    def in_figures(self) -> "CallQuerySet":
        """The calls that count in statistics: those of clients, not of staff."""
        return self.exclude(transport__in=OUTSIDE_FIGURES)


class TelemetryRecord(StoredMeasurement):
    """The figures of one call. Written in batches by telemetry.storage; only telemetry.erasure changes them later."""

    saved_tokens = models.IntegerField(
        "tokens saved, net",
        help_text="Baseline tokens less tokens sent. Below 0 for a call that follows up on an earlier answer.",
    )
    claude_original_tokens = models.PositiveIntegerField(
        "original tokens, by Claude's count", default=0, help_text="Converted by the factor of the body that was sent."
    )
    claude_saved_tokens = models.IntegerField(
        "tokens saved, net, by Claude's count",
        default=0,
        help_text="Converted by the factor of the body that was sent.",
    )
    latency_bucket = models.PositiveSmallIntegerField(default=0, help_text="See telemetry/rollups/histogram.py.")
    upstream_bucket = models.PositiveSmallIntegerField(
        default=0, help_text="The histogram bucket of the time in upstreams."
    )

    objects = CallQuerySet.as_manager()

    class Meta:
        verbose_name = "call"
        ordering = ("-created_at", "-pk")
        indexes = (
            models.Index(fields=("operation", "created_at"), name="telemetry_operation_time"),
            models.Index(fields=("outcome", "created_at"), name="telemetry_outcome_time"),
            models.Index(fields=("caller", "created_at"), name="telemetry_caller_time"),
            models.Index(fields=("chain",), name="telemetry_chain"),
        )

    def __str__(self) -> str:
        call = self.measurement
        return f"{call.operation} {call.at:%Y-%m-%d %H:%M:%S} ({call.outcome})"

    @property
    def measurement(self) -> Measurement:
        """The call as it was measured, except for `withheld`."""
        figures = {name: getattr(self, figure.field) for name, figure in FIGURES.items()}
        return Measurement.with_defaults(**figures)
