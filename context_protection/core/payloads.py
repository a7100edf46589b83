"""What a fetch gives, before protection, and what a call asks of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from context_protection.core.cursors import Origin, Walk
from context_protection.core.shapes import ANY, Shape
from context_protection.core.splitting.plans import Cutting, KeptPlan, Making
from context_protection.core.withheld import NOTHING_WITHHELD, Counts


class Page(Protocol):
    """Some rows of a walk, in order. Whole rows are read only when they can fit or were asked for."""

    @property
    def positions(self) -> Sequence[Any]:
        """The position after each row: where the walk goes on if that row is the last that was sent."""

    @property
    def more(self) -> bool:
        """Whether rows follow these."""

    @property
    def chars(self) -> Sequence[int]:
        """The length of each whole row as compact JSON."""

    @property
    def field_count(self) -> int:
        """The top-level fields of the widest row."""

    def condensed(self) -> Sequence[Mapping[str, Any]]: ...

    def whole(self, count: int) -> Sequence[dict[str, Any]]:
        """The first `count` rows as upstream has them."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The snapshot that a walk goes over: its exact size (None: upstream does not say), and what its source needs to
    find it again. `blocks` are made only when the walk is stored: a list of one page needs none. `note` is for the
    first page's `meta`, which also has what upstream sent `beside` the rows, or the way to it."""

    total: int | None
    plan: Mapping[str, Any] = field(default_factory=dict)
    blocks: Callable[[], Sequence[bytes]] = tuple
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manner:
    """How rows are told: under which key, and whether they may be condensed to what their shape names. `follow_up`:
    they are of an answer that counted what an unprotected API would have sent."""

    key: str = "items"
    condensable: bool = True
    follow_up: bool = False


AS_ITEMS = Manner()
AS_COMPUTED = Manner(condensable=False)  # every column was asked for


@runtime_checkable
class Rows(Protocol):
    """A list's rows, not yet read. `order` names what they are sorted by."""

    @property
    def shape(self) -> Shape: ...

    @property
    def manner(self) -> Manner: ...

    def open(self) -> Opening:
        """Takes the snapshot of a new walk."""

    def page(self, plan: Mapping[str, Any], block: "BlockReader | None", position: Any, size: int) -> Page:
        """Up to `size` rows after `position`; without `block`, the first of what was just opened."""


@runtime_checkable
class Kept(Protocol):
    """Rows that can be read whole again, behind a handle."""

    def everything(self, plan: Mapping[str, Any], block: "BlockReader") -> Iterator[dict[str, Any]]:
        """All rows of the walk's snapshot that are still there, in order, as upstream has them."""


class BlockReader(Protocol):
    def __call__(self, numbers: Sequence[int], /) -> Sequence[bytes]:
        """Those blocks, by one question to where they are kept."""


@dataclass(frozen=True, slots=True)
class Record:
    value: dict[str, Any]
    shape: Shape = ANY
    follow_up: bool = False  # as of Manner
    note: Mapping[str, Any] = field(default_factory=dict)  # what the first answer's `meta` says of it


@dataclass(frozen=True, slots=True)
class Piece:
    """Some whole lines of a text, or a part of one very long line: where they begin, the line counted from 1 and the
    character from 0."""

    line: int
    start: int
    text: str


class Text(Protocol):
    """A text of any length, read piece by piece. `version` changes with the content; a version's content never does.
    Figures are those of `version`; an older one can be read for as long as cursors into it live."""

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
        """At least 1: an empty text has one empty line."""

    @property
    def encoding(self) -> str:
        """What it was decoded from, by Python's name: utf-8."""

    @property
    def facts(self) -> Mapping[str, Any] | None:
        """What is answered instead of a text, where the file is none: its size, its kind."""

    def at(self, version: str) -> "Text | None":
        """The same text as it was in that version; None when it is gone."""

    def read(self, version: str, start: int, end: int) -> str | None:
        """Characters `start` to `end` of that version; None when it is gone."""

    def line_start(self, version: str, line: int) -> int:
        """The character with which this line begins, counted from 1; the text's length for one behind the last."""

    def pieces(self, version: str, first_line: int = 1) -> Iterator[Piece]:
        """All of it from that line on, a few pieces at a time in memory; nothing when it is gone."""

    def plan(self, version: str, cutting: Cutting) -> KeptPlan | Making:
        """Where that version is cut, kept for all processes. Where it is not, it is made in the background, and the
        answer says how far that is. Raises TextGone."""


Payload = Rows | Record | Text


class Hints(Protocol):
    """How the door at hand says "call this to get more": endpoint and parameters, or tool and arguments."""

    def __call__(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Ask:
    """A call as protection sees it. `arguments` are the operation's own (filters, order, id): a walk is bound to
    them. `walk` and `position` are what the caller's cursor pointed at. The rest says in which form, and how much
    of it, the answer is wanted."""

    operation: str
    caller: str
    hints: Hints
    arguments: Mapping[str, Any] = field(default_factory=dict)
    walk: Walk | None = None
    position: Any = None
    limit: int | None = None
    fields: str | None = None
    format: str | None = None
    pages: tuple[int, int] | None = None  # the first and the last of several pages at once, from 1
    result_operation: str | None = None  # the operation that reads part of a stored result, where the door has one
    record_operation: str | None = None  # the operation that opens one row of this list,
    record_arguments: Mapping[str, Any] = field(default_factory=dict)  # and with what, beside the row's key
    record_key: tuple[str, str] = ("id", "id")  # its argument that tells the row, and the row's field that has it
    record_is_row: bool = True  # what it answers is all of the row
    once: bool = False  # the call does something: to get more of its answer it is not made again

    @property
    def origin(self) -> Origin:
        return Origin(self.operation, self.caller, self.arguments)

    def again(self, **changes: Any) -> dict[str, Any]:
        """The hint for this same call with `changes`."""
        return self.hints(self.operation, {**self.arguments, **changes})

    def open_row(self, key: Any) -> dict[str, Any]:
        """The hint for the operation that opens the row with this key."""
        assert self.record_operation is not None
        return self.hints(self.record_operation, {self.record_key[0]: key, **self.record_arguments})

    def more(self, handle: str, **changes: Any) -> dict[str, Any]:
        """The hint for more of this answer: the same call again or, of one that is made once, what it has left."""
        if self.once and self.result_operation:
            return self.hints(self.result_operation, {"handle": handle, **changes})
        return self.again(**changes)

    @property
    def cannot_be_detailed(self) -> bool:
        return self.once and not self.result_operation


REST_NOT_KEPT = (
    "What comes after this could not be stored just now, so there is no nextCursor. "
    "Send the same call again in a few seconds to page on."
)


def noting_loss(meta: Mapping[str, Any]) -> dict[str, Any]:
    """The `meta` of an answer that goes without the way to its rest: the one exception to law 2."""
    return {**meta, "notes": [*meta.get("notes", ()), REST_NOT_KEPT]}


class Outcome:
    PLAIN = "plain"
    PAGINATED = "paginated"
    SUMMARIZED = "summarized"
    CHUNKED = "chunked"


@dataclass(frozen=True, slots=True)
class Envelope:
    """What leaves: one body of compact JSON, and what telemetry wants to know of it.

    `original_tokens`: of the payload before protection. `baseline_tokens`: what an API without protection would have
    sent for this call, None for just that payload; 0 for a follow-up of an answer that counted it all. `oversized`: as
    it was asked it would have gone over its budget, beyond what pages and chunks hold anyway (FR-030)."""

    body: bytes
    outcome: str
    estimated_tokens: int
    claude_tokens: int
    original_tokens: int
    baseline_tokens: int | None = None
    items: int = 1
    paginated: bool = False
    summarized: bool = False
    chunked: bool = False
    oversized: bool = False
    missing_fields: tuple[str, ...] = ()  # of the preview: upstream's record does not have them
    is_complete: bool = True  # else the way to the rest could not be stored, and `meta.notes` says so
    withheld: Counts = field(default_factory=lambda: NOTHING_WITHHELD)  # masks in what the answer was made of

    @property
    def baseline(self) -> int:
        return self.original_tokens if self.baseline_tokens is None else self.baseline_tokens
