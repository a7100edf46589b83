"""The recorded sizes of calls, which a forecast is computed from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone

from telemetry.measurement import CallOutcome
from telemetry.queries import Selection, Span, select

NEWEST = 1000  # calls
MONTH = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class RecordedSize:
    """One answered call as telemetry recorded it. Tokens are by the formula, except `claude_tokens`.

    `original`: tokens of the whole rows, record or text behind the answer. `rows`: how many were sent. `total_rows`:
    how many there are; 0 if unknown. `arguments`: the names of the arguments. `chain`: the snapshot of a paging
    sequence; "" without one.
    """

    operation: str
    caller: str
    kind: str
    chain: str
    arguments: frozenset[str]
    revision: str
    original: int
    sent: int
    claude_tokens: int
    threshold: int
    rows: int
    total_rows: int
    page: int
    is_paged: bool
    is_summarized: bool
    is_chunked: bool
    is_oversized: bool

    @property
    def is_shortened(self) -> bool:
        return self.is_summarized or self.is_chunked or self.is_oversized

    @property
    def claude_factor(self) -> float:
        """Claude's tokens for each token of the formula, in the answer that was sent."""
        return self.claude_tokens / self.sent if self.sent and self.claude_tokens else 1.0


COLUMNS = (
    "operation",
    "caller",
    "kind",
    "chain",
    "argument_names",
    "revision",
    "original_tokens",
    "estimated_tokens",
    "claude_tokens",
    "threshold",
    "item_count",
    "total_rows",
    "page",
    "pagination_used",
    "summarization_used",
    "chunking_used",
    "oversized",
)


def recorded_sizes(selection: Selection, newest: int = NEWEST) -> Sequence[RecordedSize]:
    """The newest answered calls of 30 days, newest first. Replays and calls of the playground are left out."""
    now = timezone.now()
    calls = select(Span.of(now - MONTH, now), selection).exclude(outcome=CallOutcome.ERROR)
    rows = calls.order_by("-created_at", "-pk").values_list(*COLUMNS)[:newest]
    return [_size(row) for row in rows]


def _size(row: tuple[object, ...]) -> RecordedSize:
    values = list(row)
    values[4] = frozenset(filter(None, str(values[4]).replace(" ", "").split(",")))
    return RecordedSize(*values)  # type: ignore[arg-type]
