"""The settings that ops save (TokenBudget), revisions, and snapshots for deployments without Redis (StoredWalk)."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F
from simple_history.models import HistoricalRecords

from context_protection.configuration.budgets import Budgets
from context_protection.core.policy import SETTINGS
from context_protection.core.setting import Layer, Setting


def _column(setting: Setting) -> "models.Field[Any, Any]":
    """The column of a setting. Null means inherited."""
    options: dict[str, Any] = {"null": True, "blank": True, "help_text": setting.help}
    if setting.value_type is bool:
        return models.BooleanField(**options)
    if setting.value_type is int:
        return models.PositiveIntegerField(**options)
    if setting.choices:
        return models.CharField(max_length=10, choices=list(setting.choices.items()), **options)
    return models.TextField(**options)


class PolicySettings(models.Model):
    """A column for each setting of the policy."""

    vars().update({name: _column(setting) for name, setting in SETTINGS.items()})

    class Meta:
        abstract = True


class TokenBudgetManager(models.Manager["TokenBudget"]):
    def budgets(self) -> Budgets:
        rows = self.values("operation", *SETTINGS)
        return Budgets({row.pop("operation"): row for row in rows})


class TokenBudget(PolicySettings):
    """The size limits of responses. An empty value is inherited: from the budget for all operations, else from the
    environment, else from the built-in default."""

    operation = models.CharField(
        max_length=100,
        unique=True,
        blank=True,
        help_text="The operation that this budget is for; empty: all of them.",
    )
    changed_at = models.DateTimeField(auto_now=True)

    objects = TokenBudgetManager()
    history = HistoricalRecords()

    class Meta:
        ordering = ("operation",)

    def __str__(self) -> str:
        return self.operation or "All operations"

    def layer(self) -> dict[str, Any]:
        """The values of all settings by name; None where a setting is inherited."""
        return {name: getattr(self, name) for name in SETTINGS}

    def clean(self) -> None:
        """Rejects values that are invalid in combination with the other settings in effect."""
        for name, setting in SETTINGS.items():
            if isinstance(value := getattr(self, name), str):
                setattr(self, name, value.strip() or None)
            if getattr(self, name) is not None and not self.operation and Layer.ALL_OPERATIONS not in setting.layers:
                sentence = f"Operations differ in their {setting.canonical_name}: choose one operation."
                raise ValidationError({name: sentence})
        budgets = TokenBudget.objects.budgets().with_layer(self.operation, self.layer())
        found: dict[str, list[str]] = {}
        for operation, problem in budgets.problems():
            where = f" (for {operation})" if operation not in ("", self.operation) else ""
            sentences = found.setdefault(problem.name, [])
            if not any(sentence.startswith(problem.sentence) for sentence in sentences):
                sentences.append(f"{problem.sentence}{where}")
        if found:
            raise ValidationError(found)


class RevisionManager(models.Manager["Revision"]):
    def number(self, of: int) -> int:
        return self.values_list("number", flat=True).filter(pk=of).first() or 0

    def advance(self, of: int) -> int:
        if not self.filter(pk=of).update(number=F("number") + 1):
            self.get_or_create(pk=of, defaults={"number": 1})
        return self.number(of)


class Revision(models.Model):
    """Change counters: one row for configuration (1) and one for stored contents (2)."""

    number = models.PositiveBigIntegerField(default=0)
    objects = RevisionManager()

    def __str__(self) -> str:
        return str(self.number)


class StoredWalk(models.Model):
    id = models.CharField(primary_key=True, max_length=40)
    data = models.BinaryField()
    expires_at = models.FloatField(db_index=True, help_text="Unix seconds")

    def __str__(self) -> str:
        return self.id
