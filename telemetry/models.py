"""What is kept: a row per call, and the alerts that the calls gave rise to."""

from django.db import models
from django.utils import timezone


class Outcome(models.TextChoices):
    """What protection did to an answer (FR-031)."""

    PLAIN = "plain", "Plain"
    PAGINATED = "paginated", "Paginated"
    SUMMARIZED = "summarized", "Summarized"
    CHUNKED = "chunked", "Chunked"
    ERROR = "error", "Error"


class Door(models.TextChoices):
    """The way in: the REST API, or MCP over one of its transports."""

    REST = "rest", "REST"
    WEBSOCKET = "websocket", "WebSocket"
    HTTP = "http", "HTTP"
    STDIO = "stdio", "stdio"


class TelemetryRecord(models.Model):
    """What happened to one call. Written in batches by telemetry.storage, never changed afterwards."""

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
    saved_tokens = models.PositiveIntegerField("tokens saved", help_text="Original tokens less tokens sent.")
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
        """The share of the original's tokens that was kept out of the context, 0 to 1."""
        return self.saved_tokens / self.original_tokens if self.original_tokens else 0.0


class Alert(models.Model):
    """A condition that operations should look at, from its first sight until it is over (O4)."""

    class Kind(models.TextChoices):
        OVERSIZED_SHARE = "oversized_share", "Too many oversized answers"

    class State(models.TextChoices):
        OPEN = "open", "Open"
        CLEARED = "cleared", "Cleared"

    kind = models.CharField(max_length=32, choices=Kind.choices)
    state = models.CharField(max_length=8, choices=State.choices, default=State.OPEN)
    message = models.CharField(max_length=300, help_text="What was seen last.")
    opened_at = models.DateTimeField("opened", default=timezone.now)
    cleared_at = models.DateTimeField("cleared", null=True, blank=True)
    last_checked_at = models.DateTimeField("last checked", default=timezone.now)
    share = models.FloatField("share at opening", help_text="Oversized calls among all calls, 0 to 1.")
    peak_share = models.FloatField("highest share", help_text="The highest share seen while open.")
    threshold_share = models.FloatField("alert line", help_text="The share that must not be exceeded.")
    window_minutes = models.PositiveIntegerField("window in minutes")
    calls = models.PositiveIntegerField("calls in the window", help_text="At opening.")
    oversized_calls = models.PositiveIntegerField("oversized calls", help_text="In the window, at opening.")

    class Meta:
        ordering = ("-opened_at", "-pk")
        constraints = (
            # Two checkers at once may both see the condition; only one of them can open the alert.
            models.UniqueConstraint(
                fields=("kind",), condition=models.Q(state="open"), name="telemetry_one_open_alert_per_kind"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {self.opened_at:%Y-%m-%d %H:%M} ({self.state})"
