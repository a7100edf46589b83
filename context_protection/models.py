"""The settings that ops save (TokenBudget), revisions, and snapshots for deployments without Redis (StoredWalk)."""

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F
from simple_history.models import HistoricalRecords

from context_protection.configuration.budgets import Budgets
from context_protection.core.policy import Ruler, setting_names


class TokenBudgetManager(models.Manager["TokenBudget"]):
    def budgets(self) -> Budgets:
        rows = self.values("operation", *setting_names())
        return Budgets({row.pop("operation"): row for row in rows})


class TokenBudget(models.Model):
    """The size limits of responses. An empty value is inherited: from the budget for all operations, else from the
    environment, else from the built-in default."""

    operation = models.CharField(
        max_length=100,
        unique=True,
        blank=True,
        help_text="The operation that this budget is for; empty: all of them.",
    )
    token_budget_threshold = models.PositiveIntegerField(
        "token budget threshold",
        null=True,
        blank=True,
        help_text="Answers above so many estimated tokens come as a preview, a table or a smaller page.",
    )
    hard_cap = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="No answer exceeds so many tokens as Claude counts them, whatever is asked for.",
    )
    default_page_size = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Rows of a page without a limit.",
    )
    max_page_size = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="The highest limit that a caller may set.",
    )
    chunk_size = models.PositiveIntegerField(null=True, blank=True, help_text="Lines of a log in one chunk.")
    chunk_tokens = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Estimated tokens of prose in one chunk.",
    )
    ruler = models.CharField(
        max_length=10,
        null=True,  # null: inherited
        blank=True,
        choices=[
            (Ruler.FORMULA.value, "the formula: characters / 4 + 20 %"),
            (Ruler.CLAUDE.value, "as Claude counts"),
        ],
        help_text="What the threshold is measured with. The hard cap is always measured as Claude counts.",
    )
    pagination = models.BooleanField(null=True, blank=True, help_text="Lists come in pages.")
    summarization = models.BooleanField(null=True, blank=True, help_text="Large answers come as previews.")
    chunking = models.BooleanField(null=True, blank=True, help_text="Long texts come in chunks.")
    meta_on_small_lists = models.BooleanField(
        null=True, blank=True, help_text="Paging metadata even on a list that fits whole."
    )
    tables_when_smaller = models.BooleanField(
        null=True,
        blank=True,
        help_text="Lists come as tables wherever that is smaller, not only where items do not fit.",
    )
    timeout_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="Seconds after which a call is given up, and what it waits for is stopped.",
    )
    cache_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text="An upstream API's answer is given again for so long, without asking it. 0: never.",
    )
    summary_fields = models.TextField(
        null=True,  # null: inherited
        blank=True,
        help_text="What previews and condensed rows hold, beside what identifies a record: names, dotted paths, "
        "items.*.name, separated by commas.",
    )
    changed_at = models.DateTimeField(auto_now=True)

    objects = TokenBudgetManager()
    history = HistoricalRecords()

    class Meta:
        ordering = ("operation",)

    def __str__(self) -> str:
        return self.operation or "All operations"

    def clean(self) -> None:
        """Rejects values that are invalid in combination with everything else that applies."""
        self.ruler = self.ruler or None
        self.summary_fields = (self.summary_fields or "").strip() or None
        if self.summary_fields and not self.operation:
            raise ValidationError({"summary_fields": "Operations differ in their fields: set them for one operation."})
        layer = {name: getattr(self, name) for name in setting_names()}
        budgets = TokenBudget.objects.budgets().with_layer(self.operation, layer)
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
