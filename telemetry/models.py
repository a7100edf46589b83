"""The tables of telemetry: calls, audited token counts, rejected keys, redacted fields by day, and alerts."""

from django.db import models
from django.utils import timezone


class Outcome(models.TextChoices):
    """The kind of response that protection produced (FR-031)."""

    PLAIN = "plain", "Plain"
    PAGINATED = "paginated", "Paginated"
    SUMMARIZED = "summarized", "Summarized"
    CHUNKED = "chunked", "Chunked"
    ERROR = "error", "Error"


class Door(models.TextChoices):
    """The transport: the REST API, or one of MCP's."""

    REST = "rest", "REST"
    WEBSOCKET = "websocket", "WebSocket"
    HTTP = "http", "HTTP"
    SSE = "sse", "SSE"
    STDIO = "stdio", "stdio"


class TelemetryRecord(models.Model):
    """The figures of one call. Written in batches by telemetry.storage, never changed afterwards."""

    request_id = models.CharField("request id", max_length=64, db_index=True)
    created_at = models.DateTimeField("time", db_index=True, help_text="When the call came in.")
    operation = models.CharField(max_length=100)
    endpoint = models.CharField(max_length=200)
    kind = models.CharField(
        max_length=8, blank=True, help_text="What the operation answers with: list, record, text or action."
    )
    door = models.CharField(max_length=16, choices=Door.choices, help_text="The way the call came in.")
    caller = models.CharField(max_length=100, help_text="The name of the API key or client.")
    outcome = models.CharField(max_length=16, choices=Outcome.choices, help_text="What protection did to the answer.")
    error_reason = models.CharField("error reason", max_length=64, blank=True)
    latency_ms = models.FloatField("latency in ms")
    response_bytes = models.PositiveIntegerField("bytes sent")
    item_count = models.PositiveIntegerField("items sent")
    estimated_tokens = models.PositiveIntegerField(
        "tokens sent", help_text="Estimate for the body that left: characters / 4 + 20 %."
    )
    claude_tokens = models.PositiveIntegerField(
        "tokens sent, by Claude's count", help_text="0: this body was not counted."
    )
    original_tokens = models.PositiveIntegerField(
        "original tokens", help_text="Estimate for the payload, had it not been protected."
    )
    baseline_tokens = models.PositiveIntegerField(
        "baseline tokens",
        default=0,
        help_text="What an API without protection would have sent for this call; 0 for a follow-up of an answer "
        "whose baseline was counted.",
    )
    saved_tokens = models.IntegerField(
        "tokens saved, net", help_text="Baseline tokens less tokens sent: a follow-up costs, and is below 0."
    )
    missing_fields = models.CharField(
        "fields not found upstream",
        max_length=400,
        blank=True,
        help_text="Fields of the preview that upstream's record does not have.",
    )
    threshold = models.PositiveIntegerField("token budget", help_text="The budget this call had.")
    oversized = models.BooleanField(help_text="The original would have gone over the token budget.")
    pagination_used = models.BooleanField("paginated")
    summarization_used = models.BooleanField("summarized")
    chunking_used = models.BooleanField("chunked")

    class Meta:
        verbose_name = "call"
        ordering = ("-created_at", "-pk")
        indexes = (
            models.Index(fields=("operation", "created_at"), name="telemetry_operation_time"),
            models.Index(fields=("outcome", "created_at"), name="telemetry_outcome_time"),
            models.Index(fields=("caller", "created_at"), name="telemetry_caller_time"),
        )

    def __str__(self) -> str:
        return f"{self.operation} {self.created_at:%Y-%m-%d %H:%M:%S} ({self.outcome})"

    @property
    def reduction(self) -> float:
        """The share of the original's tokens that this response left out, 0 to 1 (FR-030)."""
        left_out = max(0, self.original_tokens - self.estimated_tokens)
        return left_out / self.original_tokens if self.original_tokens else 0.0


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


class RejectedKey(models.Model):
    """Rejected keys of one address in one minute. Written by telemetry.rejections."""

    DOORS = [*((door.value, door.label) for door in Door if door != Door.STDIO), ("page", "Page")]

    minute = models.DateTimeField("time", help_text="The minute, by its beginning.")
    address = models.CharField(
        max_length=45, help_text='Where the calls came from; "others" are those beyond 1,000 addresses in the minute.'
    )
    door = models.CharField(max_length=16, choices=DOORS, help_text="The way the last call came in.")
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


class WithheldField(models.Model):
    """How often a tool's responses redacted a field on one day. Stores the field's path, never its values."""

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


class Alert(models.Model):
    """A condition that ops should look at, from its first detection until it is over (O4)."""

    class Kind(models.TextChoices):
        OVERSIZED_SHARE = "oversized_share", "Too many oversized answers"
        TOKEN_DRIFT = "token_drift", "Token counts drift"

    class State(models.TextChoices):
        OPEN = "open", "Open"
        CLEARED = "cleared", "Cleared"

    kind = models.CharField(max_length=32, choices=Kind.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    message = models.CharField(max_length=300, help_text="What was seen last.")
    opened_at = models.DateTimeField("opened", default=timezone.now)
    cleared_at = models.DateTimeField("cleared", null=True, blank=True)
    last_checked_at = models.DateTimeField("last checked", default=timezone.now)
    share = models.FloatField(
        "share at opening", help_text="Oversized calls among all calls, or how far token counts are off, 0 to 1."
    )
    peak_share = models.FloatField("highest share", help_text="The highest share seen while open.")
    threshold_share = models.FloatField("alert line", help_text="The share that must not be exceeded.")
    window_minutes = models.PositiveIntegerField("window in minutes", default=0)
    calls = models.PositiveIntegerField("calls in the window", help_text="Calls, or audits, looked at at opening.")
    oversized_calls = models.PositiveIntegerField("oversized calls", default=0, help_text="In the window, at opening.")

    class Meta:
        ordering = ("-opened_at", "-pk")
        constraints = (
            # Two processes may detect the condition at once; only one of them can open the alert.
            models.UniqueConstraint(
                fields=("kind",), condition=models.Q(state="open"), name="telemetry_one_open_alert_per_kind"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.opened_at:%Y-%m-%d %H:%M} ({self.state})"
