"""The figures of one finished call (FR-029)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WithheldCount:
    """A field that was redacted, or that contains masked text. `field` is its path, `kind` the kind of secret, `how` a
    value of WithheldField.How, `count` the number of values."""

    field: str
    kind: str
    how: str
    count: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call. Token figures use the formula (characters / 4 + 20 %), except `claude_tokens`.

    Figures are 0 where there is nothing to measure: a rejected call, for example, has no result. Calls are made on the
    hot path, so nothing is validated here; telemetry/storage.py corrects invalid values.
    """

    request_id: str
    operation: str  # list_bookings
    endpoint: str  # /api/v1/bookings
    door: str  # the transport: rest | websocket | http | sse | stdio
    caller: str  # the key's name, never the key
    at: datetime  # aware, UTC
    latency_ms: float
    estimated_tokens: int = 0  # of the body that was sent
    claude_tokens: int = 0  # the same body by Claude's own count; 0: not counted
    original_tokens: int = 0  # of the unprotected payload
    baseline_tokens: int = (
        0  # what an unprotected API would have sent; 0 for a follow-up: counted with the call that it follows
    )
    threshold: int = 0  # the policy's token budget for this call
    response_bytes: int = 0
    item_count: int = 0
    outcome: str = "plain"  # plain | paginated | summarized | chunked | error
    pagination_used: bool = False
    summarization_used: bool = False
    chunking_used: bool = False
    error_reason: str = ""
    oversized: bool = False  # the requested result was over its budget and was reduced (FR-030)
    missing_fields: str = ""  # preview fields that the upstream record does not have, separated by commas
    kind: str = ""  # list | record | text | action; "" where the transport does not know
    withheld: tuple[WithheldCount, ...] = ()

    @property
    def saved_tokens(self) -> int:
        """Net savings. Negative for a follow-up: an unprotected API would have sent its content with the first call."""
        return self.baseline_tokens - self.estimated_tokens

    @property
    def reduction(self) -> float:
        """The share of the original's tokens that this response left out, 0 to 1 (FR-030)."""
        left_out = max(0, self.original_tokens - self.estimated_tokens)
        return left_out / self.original_tokens if self.original_tokens else 0.0

    @property
    def is_list(self) -> bool:
        """Whether the call could have been paginated: the denominator of the adoption rate (FR-032)."""
        return self.kind == "list" or (not self.kind and (self.pagination_used or self.item_count > 1))
