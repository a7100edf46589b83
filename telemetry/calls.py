"""What is known about one call when it has been answered (FR-029)."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class WithheldCount:
    """A field that an answer withheld, or masked something in: its path, what it is, how (a value of
    WithheldField.How), and how many values."""

    field: str
    kind: str
    how: str
    count: int


@dataclass(frozen=True, slots=True)
class Call:
    """One call at one door. Token figures are of the seeds' formula, except `claude_tokens`.

    Figures are 0 where there is nothing to measure: a call that was refused sent no answer.
    It is made on the hot path, so it checks nothing; telemetry/storage.py puts odd values right.
    """

    request_id: str
    operation: str  # list_bookings
    endpoint: str  # /api/v1/bookings
    door: str  # rest | websocket | http | stdio
    caller: str  # the key's name, never the key
    at: datetime  # aware, UTC
    latency_ms: float
    estimated_tokens: int = 0  # of the body that left
    claude_tokens: int = 0  # the same body by Claude's own count; 0: not counted
    original_tokens: int = 0  # of the payload, had it not been protected
    baseline_tokens: int = (
        0  # what an unprotected API would have sent; 0: it was counted with the call that this follows
    )
    threshold: int = 0  # the policy's token budget for this call
    response_bytes: int = 0
    item_count: int = 0
    outcome: str = "plain"  # plain | paginated | summarized | chunked | error
    pagination_used: bool = False
    summarization_used: bool = False
    chunking_used: bool = False
    error_reason: str = ""
    oversized: bool = False  # it would have gone over its budget as it was asked, and was made smaller (FR-030)
    missing_fields: str = ""  # of the preview's fields, those that upstream's record did not have, by commas
    kind: str = ""  # list | record | text | action; "" where the door does not know
    withheld: tuple[WithheldCount, ...] = ()

    @property
    def saved_tokens(self) -> int:
        """Net: below 0 for a follow-up, which costs what an unprotected API had sent at once."""
        return self.baseline_tokens - self.estimated_tokens

    @property
    def reduction(self) -> float:
        """The share of the original's tokens that this answer left out, 0 to 1 (FR-030)."""
        left_out = max(0, self.original_tokens - self.estimated_tokens)
        return left_out / self.original_tokens if self.original_tokens else 0.0

    @property
    def is_list(self) -> bool:
        """Whether the call could have been paginated: what the adoption rate is a share of (FR-032)."""
        return self.kind == "list" or (not self.kind and (self.pagination_used or self.item_count > 1))
