"""The figures of one finished call (FR-029)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from django.db.models import TextChoices

from telemetry.attempts import LONGEST
from telemetry.figure import IN_A_TABLE_OF_ITS_OWN, Figure, Group, Metric, Unit, figures_of

TOKENS_METRIC = "sluice_result_tokens"
TOKENS_HELP = (
    "Tokens by the formula: raw (the payloads), baseline (what unprotected APIs would have sent), sent to the context."
)


# Transports of calls that staff make to look at answers. These calls are recorded, but no figure counts them.
OUTSIDE_FIGURES = ("replay", "playground")


class Origin(TextChoices):
    """The party that has to act on a failed call."""

    SLUICE = "sluice", "Sluice"  # a fault of the gateway
    UPSTREAM = "upstream", "Upstream"  # the upstream failed or did not answer
    CALLER = "caller", "Caller"  # a wrong key, argument or cursor
    POLICY = "policy", "Policy"  # a limit that ops set


class CallOutcome(TextChoices):
    """The kind of response that protection produced (FR-031)."""

    PLAIN = "plain", "Plain"
    PAGINATED = "paginated", "Paginated"
    SUMMARIZED = "summarized", "Summarized"
    CHUNKED = "chunked", "Chunked"
    ERROR = "error", "Error"


@dataclass(frozen=True, slots=True)
class WithheldCount:
    """A field that was redacted, or that contains masked text."""

    field: str  # its path
    kind: str  # the kind of secret
    how: str  # a value of WithheldField.How
    count: int  # the number of values


class Measurement(NamedTuple):
    """One call. Token figures use the formula (characters / 4 + 20 %), except `claude_tokens`.

    Measurements are made on the hot path, so nothing is validated here; telemetry/storage.py corrects invalid values.
    Creating a tuple takes a quarter of the time of a frozen dataclass. No field has a default, so that callers cannot
    forget one.
    """

    request_id: Annotated[str, Figure("request id", Group.CALL, max_length=64, is_indexed=True)]
    at: Annotated[  # aware, UTC
        datetime, Figure("time", Group.CALL, "When the call ended.", field="created_at", is_indexed=True)
    ]
    caller: Annotated[str, Figure("caller", Group.CALL, "The name of the API key or client.", max_length=100)]
    client: Annotated[str, Figure("client", Group.CALL, "The program that called, by its own word.", max_length=64)]
    client_version: Annotated[str, Figure("client version", Group.CALL, max_length=32)]
    transport: Annotated[
        str,
        # The column is older than the name `transport`.
        Figure("transport", Group.CALL, "The way the call came in.", max_length=16, column="door"),
    ]
    protocol: Annotated[str, Figure("protocol", Group.CALL, "The revision of MCP; empty over REST.", max_length=16)]
    arm: Annotated[str, Figure("arm", Group.CALL, "The caller's arm of a running experiment.", max_length=16)]
    revision: Annotated[
        str,
        Figure(
            "revision", Group.CALL, "The revision of the configuration that the call was served under.", max_length=32
        ),
    ]
    trace_id: Annotated[str, Figure("trace id", Group.CALL, max_length=32, is_indexed=True)]
    operation: Annotated[str, Figure("operation", Group.OPERATION, max_length=100)]
    connector: Annotated[str, Figure("connector", Group.OPERATION, max_length=40)]
    argument_names: Annotated[
        str, Figure("arguments", Group.OPERATION, "The names of the arguments, separated by commas.", max_length=200)
    ]
    endpoint: Annotated[str, Figure("endpoint", Group.OPERATION, max_length=200)]
    kind: Annotated[
        str, Figure("kind", Group.OPERATION, "The kind of result: list, record, text or action.", max_length=8)
    ]
    outcome: Annotated[
        str,
        Figure(
            "outcome",
            Group.ANSWER,
            "What protection did to the answer.",
            max_length=16,
            choices=CallOutcome.choices,
            default=CallOutcome.PLAIN.value,
        ),
    ]
    origin: Annotated[
        str,
        Figure(
            "failure origin",
            Group.ANSWER,
            "Who has to act on a failed call. Empty: the call was answered.",
            max_length=8,
            choices=Origin.choices,
        ),
    ]
    error_reason: Annotated[str, Figure("error reason", Group.ANSWER, max_length=64)]
    error_message: Annotated[
        str, Figure("error message", Group.ANSWER, "As the client got it, secrets masked.", max_length=300)
    ]
    is_cached: Annotated[
        bool, Figure("from the response cache", Group.ANSWER, "The response of an equal call was sent again.")
    ]
    latency_ms: Annotated[
        float, Figure("latency", Group.ANSWER, unit=Unit.MILLISECONDS, is_listed=True, is_totalled=True)
    ]
    upstream: Annotated[str, Figure("upstream", Group.UPSTREAM, "Empty: no upstream was needed.", max_length=64)]
    upstream_status: Annotated[
        int,
        Figure(
            "upstream's status", Group.UPSTREAM, "The HTTP status of the last attempt. 0: no answer.", unit=Unit.COUNT
        ),
    ]
    attempts: Annotated[
        int, Figure("attempts", Group.UPSTREAM, "Requests sent to upstreams.", unit=Unit.COUNT, is_totalled=True)
    ]
    upstream_ms: Annotated[
        float,
        Figure(
            "time in upstreams",
            Group.UPSTREAM,
            "The part of the latency that was spent waiting for upstreams.",
            unit=Unit.MILLISECONDS,
            is_totalled=True,
        ),
    ]
    waits: Annotated[
        str,
        Figure(
            "waits for upstreams",
            Group.UPSTREAM,
            "Requests with their status, and pauses, in ms and in their order.",
            max_length=LONGEST,
        ),
    ]
    response_bytes: Annotated[
        int,
        Figure(
            "size",
            Group.ANSWER,
            "Bytes sent.",
            unit=Unit.BYTES,
            is_listed=True,
            is_totalled=True,
            metric=Metric("sluice_response_bytes", "Bytes sent."),
        ),
    ]
    item_count: Annotated[int, Figure("items sent", Group.ANSWER, unit=Unit.COUNT)]
    total_rows: Annotated[
        int, Figure("rows found", Group.ANSWER, "All rows of the list, sent or not.", unit=Unit.COUNT)
    ]
    largest_row_tokens: Annotated[
        int,
        Figure(
            "largest row", Group.ANSWER, "Tokens of the largest row of the page.", unit=Unit.COUNT, is_estimate=True
        ),
    ]
    chain: Annotated[
        str, Figure("chain", Group.ANSWER, "The snapshot whose pages the calls read one after another.", max_length=32)
    ]
    page: Annotated[int, Figure("page", Group.ANSWER, "The place in the chain, from 1. 0: no list.", unit=Unit.COUNT)]
    original_tokens: Annotated[
        int,
        Figure(
            "original tokens",
            Group.TOKENS,
            "Estimate for the payload, had it not been protected.",
            unit=Unit.COUNT,
            is_totalled=True,
            metric=Metric(TOKENS_METRIC, TOKENS_HELP, kind="raw"),
            is_estimate=True,
        ),
    ]
    estimated_tokens: Annotated[
        int,
        Figure(
            "tokens sent",
            Group.TOKENS,
            "Estimate for the body that was sent: characters / 4 + 20 %.",
            unit=Unit.COUNT,
            is_totalled=True,
            metric=Metric(TOKENS_METRIC, TOKENS_HELP, kind="sent"),
            is_estimate=True,
        ),
    ]
    claude_tokens: Annotated[
        int,
        Figure(
            "tokens sent, by Claude's count",
            Group.TOKENS,
            "0: this body was not counted.",
            unit=Unit.COUNT,
            is_totalled=True,
            tile="Tokens sent, Claude's count",
            metric=Metric("sluice_claude_tokens", "Tokens sent to the context, by Claude's count."),
        ),
    ]
    baseline_tokens: Annotated[
        int,
        Figure(
            "baseline tokens",
            Group.TOKENS,
            "What an API without protection would have sent for this call; 0 for a follow-up of an answer whose "
            "baseline was counted.",
            unit=Unit.COUNT,
            is_totalled=True,
            metric=Metric(TOKENS_METRIC, TOKENS_HELP, kind="baseline"),
            is_estimate=True,
        ),
    ]
    threshold: Annotated[int, Figure("token budget", Group.TOKENS, "The budget this call had.", unit=Unit.COUNT)]
    oversized: Annotated[
        bool,
        Figure(
            "oversized",
            Group.TOKENS,
            "The original was over the token budget, and was reduced (FR-030).",
            metric=Metric("sluice_oversized_calls", "Calls whose unprotected answer was over budget."),
        ),
    ]
    pagination_used: Annotated[bool, Figure("paginated", Group.PROTECTION)]
    summarization_used: Annotated[bool, Figure("summarized", Group.PROTECTION)]
    chunking_used: Annotated[bool, Figure("chunked", Group.PROTECTION)]
    missing_fields: Annotated[
        str,
        Figure(
            "fields not found upstream",
            Group.PROTECTION,
            "Fields of the preview that upstream's record does not have, separated by commas.",
            max_length=400,
        ),
    ]
    withheld: Annotated[tuple[WithheldCount, ...], IN_A_TABLE_OF_ITS_OWN]

    @classmethod
    def with_defaults(cls, **known: Any) -> "Measurement":
        """A call with defaults for figures that were not measured. A rejected call, for example, has no result."""
        return cls(**{**DEFAULTS, **known})

    def measured(self) -> "Measurement":
        """The call itself. The recorder also accepts calls whose figures are computed on the writer thread."""
        return self

    def after_storing(self) -> None:
        """Does nothing; the recorder calls it on every item."""

    @property
    def saved_tokens(self) -> int:
        """Net savings. Negative for a follow-up: an unprotected API would have sent its content with the first call."""
        return self.baseline_tokens - self.estimated_tokens

    @property
    def reduction(self) -> float:
        """The share of the original's tokens that this response left out, 0 to 1 (FR-030)."""
        return reduction(self.original_tokens, self.estimated_tokens)

    @property
    def claude_factor(self) -> float | None:
        """Claude's tokens per formula token of this response; None without Claude's count."""
        return self.claude_tokens / self.estimated_tokens if self.claude_tokens and self.estimated_tokens else None

    @property
    def is_list(self) -> bool:
        """Whether the call asked for a list (FR-032). For a call without a kind, its other figures decide."""
        return self.kind == "list" or (not self.kind and (self.pagination_used or self.item_count > 1))


def reduction(original_tokens: int, estimated_tokens: int) -> float:
    return max(0, original_tokens - estimated_tokens) / original_tokens if original_tokens else 0.0


FIGURES = figures_of(Measurement)
DEFAULTS = {**{name: figure.default for name, figure in FIGURES.items() if name != "at"}, "withheld": ()}
