"""The settings that ops save (TokenBudget), revisions, and snapshots for deployments without Redis (StoredWalk)."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F
from simple_history.models import HistoricalRecords

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import EVERYTHING, Breadth, BudgetScope, Scoped
from context_protection.core.setting import Setting
from context_protection.layers.budgets import BudgetProblem, Budgets
from context_protection.layers.file.source import configuration_file


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


SCOPE = ("operation", "connector", "caller")  # the columns of a BudgetScope


class TokenBudgetManager(models.Manager["TokenBudget"]):
    def scoped(self) -> Scoped:
        rows = self.values(*SCOPE, *SETTINGS)
        return {BudgetScope(**{name: row.pop(name) for name in SCOPE}): row for row in rows}

    def budgets(self) -> Budgets:
        """The saved budgets, above the configuration file in force."""
        return Budgets(self.scoped(), configuration_file.layer)


class TokenBudget(PolicySettings):
    """The size limits of responses. An empty value is inherited: from the next less specific budget, else from the
    environment, the configuration file, the operation's own settings or the built-in default."""

    operation = models.CharField(
        max_length=100,
        blank=True,
        help_text="The operation that this budget is for, or a pattern such as nsip_*; empty: all of them.",
    )
    connector = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="The connector whose operations this budget is for, instead of an operation.",
    )
    caller = models.CharField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        help_text="The name of the API key that this budget is for; empty: all of them.",
    )
    changed_at = models.DateTimeField(auto_now=True)

    objects = TokenBudgetManager()
    history = HistoricalRecords()

    class Meta:
        ordering = ("caller", "connector", "operation")
        constraints = (models.UniqueConstraint(fields=SCOPE, name="one_budget_per_scope"),)

    def __str__(self) -> str:
        text = str(self.scope)
        return text[0].upper() + text[1:] if self.scope.breadth is Breadth.ALL else text

    @property
    def scope(self) -> BudgetScope:
        return BudgetScope(self.operation, self.connector, self.caller)

    def layer(self) -> dict[str, Any]:
        """The values of all settings by name; None where a setting is inherited."""
        return {name: getattr(self, name) for name in SETTINGS}

    def clean(self) -> None:
        """Rejects values that this scope cannot have, or that are invalid together with the other settings in effect.
        Strips texts; an empty one is inherited."""
        if self.operation and self.connector:
            sentence = "Choose an operation or a connector, not both: an operation has one connector."
            raise ValidationError({"connector": sentence})
        for name, setting in SETTINGS.items():
            if isinstance(value := getattr(self, name), str):
                setattr(self, name, value.strip() or None)
            if getattr(self, name) is not None and (misplaced := setting.misplaced(self.scope.breadth)):
                raise ValidationError({name: f"{setting.canonical_name}: {misplaced}"})
        found: dict[str, list[str]] = {}
        for each in TokenBudget.objects.budgets().with_budget(self.scope, self.layer()).problems():
            sentences, sentence = found.setdefault(each.problem.name, []), each.problem.sentence
            if not any(known.startswith(sentence) for known in sentences):
                sentences.append(f"{sentence}{self._elsewhere(each)}")
        if found:
            raise ValidationError(found)

    def _elsewhere(self, found: BudgetProblem) -> str:
        """Where the problem is, unless it is in the scope of this budget."""
        return "" if found.at in (self.scope, EVERYTHING) else f" (for {found.at})"


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
