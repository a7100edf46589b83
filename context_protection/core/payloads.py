"""Payloads (what a connector fetched, before protection), the request that protection sees, and the envelope."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from context_protection.core.cursors import Snapshot, SnapshotOrigin
from context_protection.core.errors import CallError
from context_protection.core.masks import NOTHING_WITHHELD, Counts
from context_protection.core.policy import Policy
from context_protection.core.protocols import CheckedOncePerClass
from context_protection.core.shapes import ANY, Shape
from context_protection.core.splitting.plans import ChunkSizes, IndexingProgress, StoredPlan


class Page(Protocol):
    """Some rows of a snapshot, in order. Whole rows are read only if they can fit or were requested."""

    @property
    def positions(self) -> Sequence[Any]:
        """The position after each row: where the next page starts if that row is the last one sent."""

    @property
    def more(self) -> bool:
        """Whether more rows follow."""

    @property
    def field_count(self) -> int:
        """The number of top-level fields of the widest row."""

    @property
    def note(self) -> Mapping[str, Any]:
        """The note for the `meta` of an answer with this page, if it is not the first."""

    @property
    def beside(self) -> Mapping[int, Mapping[str, Any]]:
        """Upstream's data beside the rows of its later pages, by the index of each page's first row in this page."""

    def chars(self, count: int) -> Sequence[int]:
        """The lengths of the first `count` whole rows as compact JSON."""

    def condensed(self, policy: Policy, start: int = 0, end: int | None = None) -> Sequence[Mapping[str, Any]]:
        """The rows from index `start` to before `end`, with the fields of their preview. Undeclared fields are inferred
        from these rows."""

    def whole(self, count: int) -> Sequence[dict[str, Any]]:
        """The first `count` rows as upstream sent them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """A list at the start of its paging. `total` is its exact size (None: upstream does not say), `plan` what its
    source needs to find it again. `blocks` is called only if the snapshot is stored; a list of one page needs none.
    `note` goes to the first page's `meta`. So do the fields that upstream sent `beside` the rows or, if they are too
    large, a hint for reading them."""

    total: int | None
    plan: Mapping[str, Any] = field(default_factory=dict)
    blocks: Callable[[], Sequence[bytes]] = tuple
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RowOptions:
    """Rendering options of rows. `key`: the member of the answer that holds them. `condensable`: they may be condensed
    to the fields of their shape. `follow_up`: an earlier answer has already counted the baseline of these rows.
    `always_handle`: even a complete answer names its stored result. `fills_pages`: without a limit, a page has as many
    rows as the budget allows."""

    key: str = "items"
    condensable: bool = True
    follow_up: bool = False
    always_handle: bool = False
    fills_pages: bool = False


AS_ITEMS = RowOptions()
AS_COMPUTED = RowOptions(condensable=False)  # every column was requested


@runtime_checkable
class Rows(Protocol, metaclass=CheckedOncePerClass):
    """The rows of a list, not yet read."""

    @property
    def shape(self) -> Shape: ...

    @property
    def options(self) -> RowOptions: ...

    def open(self) -> Opening:
        """Takes a new snapshot."""

    def page(self, plan: Mapping[str, Any], block: "BlockReader | None", position: Any, size: int) -> Page:
        """Up to `size` rows after `position`. Without `block`, they come from the list that was just opened."""


@runtime_checkable
class SnapshotRows(Protocol, metaclass=CheckedOncePerClass):
    """Stored rows that a result handle can read again in full."""

    def everything(self, plan: Mapping[str, Any], block: "BlockReader") -> Iterator[dict[str, Any]]:
        """All rows of the snapshot that still exist, in order, as upstream sent them."""


class BlockReader(Protocol):
    def __call__(self, numbers: Sequence[int], /) -> Sequence[bytes]:
        """Reads these blocks with one query to their store."""


@dataclass(frozen=True, slots=True)
class Record:
    value: dict[str, Any]
    shape: Shape = ANY
    follow_up: bool = False  # see RowOptions
    note: Mapping[str, Any] = field(default_factory=dict)  # goes to the first answer's `meta`


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines of a text, or a part of one very long line. `line` counts from 1, `start` (characters) from
    0."""

    line: int
    start: int
    text: str


class Text(Protocol):
    """A text of any length, read in pieces. New content has a new `version`; the content of a version never changes.
    `chars` and `lines` describe `version`. An older version can be read for as long as cursors into it live."""

    @property
    def name(self) -> str: ...

    @property
    def media_type(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def chars(self) -> int: ...

    @property
    def lines(self) -> int:
        """The number of lines, at least 1: an empty text has one empty line."""

    @property
    def encoding(self) -> str:
        """The encoding of the original bytes, by Python's name, such as utf-8."""

    @property
    def facts(self) -> Mapping[str, Any] | None:
        """The answer for a file that is not text: its size and kind. None for a text."""

    def at(self, version: str) -> "Text | None":
        """The text in that version; None if it is gone."""

    def read(self, version: str, start: int, end: int) -> str | None:
        """Characters `start` to `end` of that version; None if it is gone."""

    def line_start(self, version: str, line: int) -> int:
        """The offset of the first character of a line (lines count from 1). After the last line: the text's length."""

    def pieces(self, version: str, first_line: int = 1) -> Iterator[Piece]:
        """All pieces from that line on, with few in memory at a time. No pieces if the version is gone."""

    def plan(self, version: str, chunk_sizes: ChunkSizes) -> StoredPlan | IndexingProgress:
        """The stored chunk plan of that version, shared by all processes. If there is none yet, it is made in the
        background, and an `IndexingProgress` is returned. Raises TextGone."""


Payload = Rows | Record | Text


class Hints(Protocol):
    """The transport's form of "call this to get more": endpoint and parameters, or tool and arguments."""

    def __call__(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """The request that protection sees. `arguments` are the operation's own (filters, order, id); a snapshot is bound
    to them. `snapshot` and `position` come from the caller's cursor. The other fields choose the form and the size of
    the answer."""

    operation: str
    caller: str
    hints: Hints
    arguments: Mapping[str, Any] = field(default_factory=dict)
    snapshot: Snapshot | None = None
    position: Any = None
    limit: int | None = None
    fields: str | None = None
    format: str | None = None
    search: str | None = None  # one of `arguments`: words that the rows, or the lines of a text, contain
    pages: tuple[int, int] | None = None  # the first and the last of several pages, counted from 1
    result_operation: str | None = None  # the operation that reads a part of a stored result, if the transport has one
    record_operation: str | None = None  # the operation that returns one row of this list
    record_arguments: Mapping[str, Any] = field(default_factory=dict)  # its arguments besides the row's key
    record_key: tuple[str, str] = ("id", "id")  # its argument for the row's key, and the row's field with that key
    record_is_row: bool = True  # whether `record_operation` returns the whole row
    is_called_once: bool = False  # True for an action, which must not be repeated to get more of its answer

    @property
    def origin(self) -> SnapshotOrigin:
        return SnapshotOrigin(self.operation, self.caller, self.arguments)

    def hint(self, **changes: Any) -> dict[str, Any]:
        """The hint for this call with `changes` to its arguments."""
        return self.hints(self.operation, {**self.arguments, **changes})

    def row_hint(self, key: Any) -> dict[str, Any]:
        """The hint for the operation that returns the row with this key."""
        assert self.record_operation is not None
        return self.hints(self.record_operation, {self.record_key[0]: key, **self.record_arguments})

    def more_hint(self, handle: str, **changes: Any) -> dict[str, Any]:
        """The hint for more of this answer: the same call again or, for an action, its stored result."""
        if self.is_called_once and self.result_operation:
            return self.hints(self.result_operation, {"handle": handle, **changes})
        return self.hint(**changes)

    @property
    def cannot_be_detailed(self) -> bool:
        """Whether a preview could not name a call for its details: the action must not be repeated, and the transport
        does not read stored results."""
        return self.is_called_once and not self.result_operation


REMAINDER_NOT_STORED = (
    "The rest of this answer could not be stored just now, so there is no nextCursor. "
    "Send the same call again in a few seconds to get it."
)


def with_loss_note(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Adds to `meta` the note that the rest of the answer is unavailable: the one exception to law 2."""
    return dict(with_note(meta, REMAINDER_NOT_STORED))


def with_note(meta: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """`meta` with the sentence `text` added to its notes; unchanged if `text` is empty."""
    return {**meta, "notes": [*meta.get("notes", ()), text]} if text else meta


class Outcome:
    PLAIN = "plain"
    PAGINATED = "paginated"
    SUMMARIZED = "summarized"
    CHUNKED = "chunked"


@dataclass(frozen=True, slots=True)
class NativeContent:
    """MCP content blocks, which an MCP answer has instead of one text block with the body. Protection has counted their
    tokens, and does not read them. `meta` goes to the result's `_meta`, which the model does not read.
    `picture_tokens`: the tokens of the pictures and sounds among the blocks."""

    blocks: tuple[Any, ...]
    meta: Mapping[str, Any] = field(default_factory=dict)
    picture_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Envelope:
    """The finished answer: one body of compact JSON, and the figures for telemetry.

    `original_tokens`: the tokens of the payload, before protection. `baseline_tokens`: what an API without protection
    would have sent for this call; None: the same as `original_tokens`; 0: an earlier answer has already counted it.
    `oversized`: in its requested form the answer exceeded its budget, and paging or chunking did not already limit it
    (FR-030). `total_rows`: all rows of the list, sent or not (0: unknown, or no list). `chain`: the id of the snapshot
    that this and other pages come from; empty if there is none. `page`: the number of the page, from 1 (0: unknown, or
    the answer has no pages)."""

    body: bytes
    outcome: str
    estimated_tokens: int
    claude_tokens: int
    original_tokens: int
    baseline_tokens: int | None = None
    items: int = 1
    total_rows: int = 0
    largest_row_tokens: int = 0
    chain: str = ""
    page: int = 0
    paginated: bool = False
    summarized: bool = False
    chunked: bool = False
    oversized: bool = False
    missing_fields: tuple[str, ...] = ()  # fields of the preview that upstream's record does not have
    is_complete: bool = True  # False: the rest could not be stored, and `meta.notes` says so
    withheld: Counts = field(default_factory=lambda: NOTHING_WITHHELD)  # redaction masks in the data of this answer
    native: NativeContent | None = None
    failure: CallError | None = None  # the answer is the text of an error that the upstream's tool reported

    @property
    def baseline(self) -> int:
        return self.original_tokens if self.baseline_tokens is None else self.baseline_tokens
