"""Rollouts: settings that a growing share of the callers gets, as long as nothing becomes worse."""

import secrets
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from simple_history.models import HistoricalRecords

from context_protection.core.policy import SETTINGS

STEPS = (5, 25, 50, 100)  # percent of the callers


class RolloutState(models.TextChoices):
    DRAFT = "draft", "Draft"
    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    DONE = "done", "Done"
    ABORTED = "aborted", "Aborted"
    ROLLED_BACK = "rolled_back", "Rolled back"


IN_FORCE = (RolloutState.RUNNING, RolloutState.PAUSED)


def default_steps() -> list[int]:
    return list(STEPS)


def new_salt() -> str:
    return secrets.token_hex(16)


class Rollout(models.Model):
    """`values`: settings by their names in Policy. `step`: the place in `steps`, from 0. `cutoff`: the place up to
    which callers are included in this step (assignment.py); it is stored, so that no included caller loses the values
    when callers are added."""

    name = models.SlugField(max_length=60, unique=True, help_text="Small letters, digits and hyphens.")
    operations = models.TextField(
        blank=True, help_text="The tools, or patterns such as nsip_*, separated by commas. Empty: all tools."
    )
    values = models.JSONField(default=dict, help_text="The settings that the included callers get.")
    steps = models.JSONField(default=default_steps, help_text="Percent of the callers, step by step.")
    minimum_calls = models.PositiveIntegerField(
        "calls on each side", default=200, validators=[MinValueValidator(20), MaxValueValidator(1_000_000)]
    )
    minimum_minutes = models.PositiveIntegerField(
        "minutes in each step", default=30, validators=[MinValueValidator(1), MaxValueValidator(100_000)]
    )
    state = models.CharField(max_length=12, choices=RolloutState, default=RolloutState.DRAFT)
    step = models.PositiveSmallIntegerField(default=0)
    cutoff = models.FloatField(default=0.0, editable=False)
    step_since = models.DateTimeField(null=True, editable=False)
    salt = models.CharField(max_length=32, default=new_salt, editable=False)
    verdict = models.CharField(max_length=300, blank=True, editable=False, help_text="Why it is where it is.")
    checked_at = models.DateTimeField(null=True, editable=False)

    is_left_out_of_rollbacks = True

    history = HistoricalRecords(excluded_fields=["checked_at", "verdict"])

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.name

    @property
    def patterns(self) -> tuple[str, ...]:
        return tuple(each.strip() for each in self.operations.split(",") if each.strip())

    @property
    def share(self) -> int:
        """Percent of the callers that this step includes."""
        return int(self.steps[min(self.step, len(self.steps) - 1)])

    @property
    def is_last_step(self) -> bool:
        return self.step >= len(self.steps) - 1

    @property
    def is_in_force(self) -> bool:
        return self.state in IN_FORCE

    @property
    def treated_arm(self) -> str:
        return f"rollout-{self.pk}-on"

    @property
    def control_arm(self) -> str:
        return f"rollout-{self.pk}-off"

    @property
    def earliest_next(self) -> datetime | None:
        return self.step_since + timedelta(minutes=self.minimum_minutes) if self.step_since else None

    def clean(self) -> None:
        found: dict[str, list[str]] = {}
        if problem := _steps_problem(self.steps):
            found["steps"] = [problem]
        if problems := _values_problems(self.values):
            found["values"] = problems
        if found:
            raise ValidationError(found)


def _steps_problem(steps: Any) -> str:
    whole = isinstance(steps, list) and all(type(each) is int for each in steps)
    if not whole or not steps or steps != sorted(set(steps)) or steps[0] < 1 or steps[-1] != 100:
        return (
            f"The steps are {steps!r}. Expected: rising whole numbers from 1 to 100 that end with 100: 5, 25, 50, 100."
        )
    return ""


def _values_problems(values: Any) -> list[str]:
    if not isinstance(values, dict) or not values:
        return ["Nothing would change. Set at least one value."]
    found = []
    for name, value in values.items():
        setting = SETTINGS.get(name)
        if setting is None or not setting.is_for_trials:
            found.append(f"{name} is not a setting of rollouts.")
        elif problem := setting.problem(value):
            found.append(problem.sentence)
    return found
