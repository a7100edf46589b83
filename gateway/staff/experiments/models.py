"""Experiments compare callers with and without protection: their tokens, errors and behaviour (FR-036)."""

from collections.abc import Mapping
from typing import Any

from django.db import models
from simple_history.models import HistoricalRecords

from gateway.staff.rollouts.models import new_salt

# Protection off. The hard cap and the withholding of secrets apply in both arms.
UNPROTECTED: Mapping[str, Any] = {"pagination": False, "summarization": False, "chunking": False, "tables": False}


class ExperimentState(models.TextChoices):
    DRAFT = "draft", "Draft"
    RUNNING = "running", "Running"
    ENDED = "ended", "Ended"


class MainMeasure(models.TextChoices):
    """The measure that decides an experiment. It is fixed before the start."""

    TOKENS = "tokens_per_task", "tokens per task"
    CALLS = "calls_per_task", "calls per task"
    ERRORS = "errors", "errors"
    PAGING = "paging_finished", "paging finished"


class Experiment(models.Model):
    """Callers of one arm have protection as configured, those of the other have it off. A running experiment cannot be
    edited: another question needs another experiment."""

    name = models.SlugField(max_length=60, unique=True, help_text="Small letters, digits and hyphens.")
    question = models.CharField(max_length=200, help_text="What you want to know, in a sentence.")
    operations = models.TextField(
        blank=True, help_text="The tools, or patterns such as nsip_*, separated by commas. Empty: all tools."
    )
    main_measure = models.CharField(max_length=20, choices=MainMeasure, default=MainMeasure.TOKENS)
    is_shadow = models.BooleanField(
        "shadow mode",
        default=False,
        help_text="No caller's answer changes. The size that each answer would have without protection is computed "
        "afterwards. Says nothing about behaviour.",
    )
    planned_days = models.PositiveSmallIntegerField("days", default=14, help_text="How long it is planned to run.")
    state = models.CharField(max_length=10, choices=ExperimentState, default=ExperimentState.DRAFT)
    started_at = models.DateTimeField(null=True, editable=False)
    ended_at = models.DateTimeField(null=True, editable=False)
    cutoff = models.FloatField(default=0.5, editable=False)
    salt = models.CharField(max_length=32, default=new_salt, editable=False)

    is_left_out_of_rollbacks = True

    history = HistoricalRecords()

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.name

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(each.strip() for each in self.operations.split(",") if each.strip())

    @property
    def on_arm(self) -> str:
        """The arm with protection."""
        return f"trial-{self.pk}-on"

    @property
    def off_arm(self) -> str:
        """The arm without protection."""
        return f"trial-{self.pk}-off"


class ShadowSize(models.Model):
    """One call of an experiment in shadow mode: the answer that was sent, and what it would have been without
    protection. `caller`: a pseudonym, the same for all calls of a caller in this experiment. `dropped` and `unknown`:
    the calls before this one, in the same process, that were not sized because the process was busy, or because the
    data for the other answer had not been fetched."""

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="shadow_sizes")
    at = models.DateTimeField("time", db_index=True)
    operation = models.CharField(max_length=100)
    caller = models.CharField(max_length=16)
    on_claude = models.PositiveIntegerField()
    on_formula = models.PositiveIntegerField()
    on_summarized = models.BooleanField()
    on_paged = models.BooleanField()
    off_claude = models.PositiveIntegerField()
    off_formula = models.PositiveIntegerField()
    off_summarized = models.BooleanField()
    off_paged = models.BooleanField()
    off_refused = models.BooleanField()
    dropped = models.PositiveIntegerField(default=0)
    unknown = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = (models.Index(fields=("experiment", "-at"), name="shadow_experiment_time"),)

    def __str__(self) -> str:
        return f"{self.experiment_id} {self.operation} {self.at:%Y-%m-%d %H:%M:%S}"
