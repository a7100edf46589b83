"""Lists that an upstream pages itself. Only the pages that callers request are read.

The snapshot stores each page when it is read, so the same cursor returns the same rows in any process without an
upstream call. If an insertion upstream moves a row onto the next page, the row is not sent twice, unless its values
have changed meanwhile.
"""

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import orjson

from context_protection.core import page_sizes, side_data, summaries
from context_protection.core.budget import CHARS_A_TOKEN, dumps, length
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Snapshot, Snapshots
from context_protection.core.errors import CallError, EmptyPages, InvalidArgument
from context_protection.core.handles import HANDLE
from context_protection.core.list_positions import ListPosition
from context_protection.core.payloads import AS_ITEMS, AnswerRequest, BlockReader, Opening, RowOptions, with_note
from context_protection.core.policy import Policy
from context_protection.core.query.aggregation import Aggregation, Groups
from context_protection.core.query.columns import QueryColumn, QueryColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.query.empty import GivenFilter
from context_protection.core.query.words import SearchWords
from context_protection.core.redaction import STANDARD, Visibility
from context_protection.core.rows import Loaded, MemoryPage, MemoryRows
from context_protection.core.shapes import ANY, Shape
from context_protection.core.withheld_fields import MASK

MAX_ROWS = 10_000  # rows that one query over all rows may read
MAX_EMPTY = 20  # consecutive pages without rows, after which upstream is assumed to loop
SAMPLE = 10  # rows from which the number of rows that fit into a page is estimated
REPEATED = "Upstream's next page repeats the one before, so the list ends here. Further rows may be missing."
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """Rows as upstream sent them. `next` (JSON): the token of the next page; None on the last one. `ending`: why it is
    the last one although upstream says that more rows follow. `certain`: the next page, if any, is known to have rows.
    `total`: the number of all rows, if upstream gives it. `as_of`: when the page was read, Unix seconds. `fresh_until`:
    the time.monotonic() until which the page is fresh. `note`: for the first answer's `meta`. `beside`: what upstream
    sent beside the rows; for a later page, without the fields about paging. `before`: for the first page, the rows that
    the caller left out by starting at a later one; they count in the total. `shape`: the shape of the rows, if the
    source has learned it from this page. `size`: bytes of upstream's answer; None: unknown, perhaps large."""

    rows: Sequence[dict[str, Any]]
    next: Any = None
    total: int | None = None
    certain: bool = True
    as_of: float = 0.0
    fresh_until: float = 0.0
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    ending: str = ""
    before: int = 0
    shape: Shape | None = None
    size: int | None = None

    def pack(self) -> bytes:
        return dumps([self.rows, self.next, self.total, self.certain, self.ending, self.beside])

    @classmethod
    def unpack(cls, data: bytes) -> "SourcePage":
        rows, following, total, certain, ending, beside = orjson.loads(data)
        return cls(rows, following, total, certain, ending=ending, beside=beside)


class PageSource(Protocol):
    async def page(self, token: Any, size: int) -> SourcePage:
        """The page at `token` (another page's `next`; None: the first page), with about `size` rows if upstream lets
        the caller choose. Raises CallError."""


class _NoSource:
    async def page(self, token: Any, size: int) -> SourcePage:
        raise AssertionError("stored pages are not continued")


class OnThread(Protocol):
    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class PagedRows:
    """Rows of an upstream's paged list. Call `gather` first: it reads the pages that the call needs."""

    compared: Sequence[QueryColumn] = ()
    given: Sequence[GivenFilter] = ()

    def __init__(
        self,
        source: PageSource,
        shape: Shape = ANY,
        options: RowOptions = AS_ITEMS,
        visibility: Visibility = STANDARD,
    ) -> None:
        self.source, self.shape, self.options, self.visibility = source, shape, options, visibility
        self._pages: list[SourcePage] = []
        self._first = 0  # the number of the first page in `_pages`
        self._before = 0  # rows of the pages before it
        self._whole = MemoryRows((), shape, options)  # all rows, if `open` found that every page was read
        self._failure: CallError | None = None  # why the page after those in `_pages` could not be read

    # -- Reading, on the event loop -----------------------------------------------------------------

    async def gather(self, request: AnswerRequest, policy: Policy, on_thread: OnThread, snapshots: Snapshots) -> None:
        """Reads the pages that a call needs: first the stored ones, then upstream's. Raises CallError."""
        if request.snapshot is None:
            await self._open(request, policy)
        elif is_growing(request.snapshot):
            position = ListPosition.of(request)
            self._first, index = position.place
            self._before = position.before - index
            size = page_sizes.size_of_next(request, request.snapshot, policy, fills=page_sizes.fills_pages(self))
            self._pages = await on_thread(partial(self._stored, request.snapshot, snapshots, index + size))
            wanted = index + self._rows_that_fit(size, request, policy)
            await self._read_on(index, wanted, partial(_added, request.snapshot, snapshots), on_thread)

    @classmethod
    def of_stored(cls, pages: Sequence[SourcePage], shape: Shape) -> "PagedRows":
        """The rows of the pages that a snapshot stores, without upstream's further rows."""
        rows = cls(_NoSource(), shape)
        rows._pages = list(pages)
        return rows

    async def gather_rest(self, known: Sequence[SourcePage]) -> None:
        """Reads all pages after the known ones. Raises InvalidArgument if there are too many rows."""
        self._pages = list(known)
        while self._pages[-1].next is not None:
            self._check_bounded("handle", None)
            self._pages.append(await self._following())
            self._check_rows_come()

    async def _open(self, request: AnswerRequest, policy: Policy) -> None:
        parameter = _of_all_rows(request)
        fills = page_sizes.fills_pages(self)
        page_size = page_sizes.size_of_first(request, policy, fills=fills)
        size = page_size if policy.pagination else page_sizes.UNPAGED_ROWS
        before = (request.pages[0] - 1) * page_size if request.pages else 0
        self._pages = [await self.source.page(None, size)]
        self.shape = self._pages[0].shape or self.shape
        several = size * request.pages[1] if request.pages else self._rows_that_fit(size, request, policy)
        wanted = math.inf if parameter else several
        while self._lacks(wanted):
            if parameter:
                self._check_bounded(parameter, request.arguments.get(parameter, request.format))
            page = await self._following() if parameter else await self._ahead(before)
            if page is None:
                return
            self._pages.append(page)
            self._check_rows_come()

    async def _read_on(
        self, sent: int, wanted: int, added: Callable[[int, SourcePage], SourcePage], on_thread: OnThread
    ) -> None:
        while self._lacks(wanted):
            page = await self._ahead(sent)
            if page is None:
                return
            self._pages.append(await on_thread(partial(added, self._first + len(self._pages), page)))
            self._check_rows_come()

    async def _ahead(self, sent: int) -> SourcePage | None:
        """The page after the last one. None if upstream fails but rows after the first `sent` have been read: these are
        sent, and the next call tries again."""
        try:
            return await self._following()
        except CallError as error:
            if self._known_rows <= sent:
                raise
            self._failure = error
            return None

    async def _following(self) -> SourcePage:
        """The page after the last one. A page that repeats the last page's rows ends the list: upstream loops. But rows
        without an identity may be equal, as long as they are among upstream's total."""
        last = self._pages[-1]
        page = await self.source.page(last.next, len(last.rows))
        if not page.rows or page.rows != last.rows:
            return replace(page, rows=_unseen(page.rows, last.rows, self.shape.identity))
        missing = math.inf if last.total is None else last.total - self._known_with_before
        has_identities = len(_identities(page.rows, self.shape.identity)) == len(page.rows)
        if has_identities or page.ending or not len(page.rows) <= missing < math.inf:
            return replace(page, rows=(), next=None, ending=page.ending or (REPEATED if missing > 0 else ""))
        return page

    def _rows_that_fit(self, size: int, request: AnswerRequest, policy: Policy) -> int:
        """How many rows to read for a page of `size` rows: without a limit, only about as many as fit."""
        if request.limit is not None or size <= policy.default_page_size or size == page_sizes.UNPAGED_ROWS:
            return size
        sample = [row for page in self._pages for row in page.rows][:SAMPLE]
        shown = sample if request.fields else summaries.rows(sample, self.shape, policy)
        chars = sum(length(dumps(row)) for row in shown) / max(len(sample), 1)
        budget = policy.hard_cap if request.fields else policy.token_budget_threshold
        return min(size, max(int(budget * CHARS_A_TOKEN / max(chars, 1)), policy.default_page_size))

    def _lacks(self, wanted: float) -> bool:
        last, known = self._pages[-1], self._known_rows
        return last.next is not None and (known < wanted or (known == wanted and not last.certain))

    @property
    def _known_rows(self) -> int:
        return sum(len(page.rows) for page in self._pages)

    @property
    def _known_with_before(self) -> int:
        """The rows that have been read, with those before the first one here."""
        return self._before + self._pages[0].before + self._known_rows

    def _check_rows_come(self) -> None:
        latest = self._pages[-MAX_EMPTY:]
        if len(latest) == MAX_EMPTY and not any(page.rows for page in latest):
            raise EmptyPages(
                f"Upstream sent {MAX_EMPTY} empty pages in a row, and says that more follow.",
                reason="upstream_empty_pages",
                suggestion="Narrow the list with the operation's filters. If the error persists, tell the operator.",
            )

    def _check_bounded(self, parameter: str, value: Any) -> None:
        known, total = self._known_rows, self._pages[0].total or 0
        if max(known, total) <= MAX_ROWS:
            return
        raise InvalidArgument(
            f"{parameter} reads all rows; the list has {'more than ' if not total else ''}{max(known, total):,}.",
            reason="too_many_rows",
            parameter=parameter,
            value=value,
            expected=f"a list of at most {MAX_ROWS:,} rows",
            suggestion="Narrow the list with the operation's own filters, or page through it with nextCursor.",
        )

    # -- Rows ---------------------------------------------------------------------------------------

    @property
    def fresh_until(self) -> float:
        return 0.0 if self._failure else min(page.fresh_until for page in self._pages)

    @property
    def size(self) -> int | None:
        """Bytes of upstream's answers; None: unknown, perhaps large."""
        sizes = [page.size for page in self._pages]
        return None if None in sizes else sum(filter(None, sizes))

    def open(self) -> Opening:
        first = self._pages[0]
        if self._pages[-1].next is None:
            self._whole = self._complete
            opening = self._whole.open()
            return replace(opening, total=(opening.total or 0) + first.before)
        plan = {"growing": True, "asOf": first.as_of}  # asOf: reading the list again makes a new snapshot
        return Opening(first.total, plan, lambda: [page.pack() for page in self._pages], self._note(), first.beside)

    def _note(self) -> Mapping[str, Any]:
        note = with_note(self._pages[0].note, self._pages[-1].ending or self._difference)
        if self._failure is None:
            return note
        failed = f"Upstream failed while further rows were read: {self._failure.message} The next page tries again."
        return with_note(note, failed)

    @property
    def _difference(self) -> str:
        """A sentence for a list whose pages were all read, if no page gave the number of rows as the total. Else ""."""
        totals = [page.total for page in self._pages if page.total is not None]
        found = self._known_with_before
        if self._first or self._pages[-1].next is not None or not totals or found in totals:
            return ""
        return f"Upstream gives {totals[-1]:,} as the total, but sent {found:,} rows."

    def page(self, plan: Mapping[str, Any], block: BlockReader | None, position: Any, size: int) -> MemoryPage:
        if not plan.get("growing"):
            return self._whole.page(plan, block, position, size)
        number, index = position or (0, 0)
        places = [*_places(self._pages, self._first)]
        start = next((at for at, place in enumerate(places) if place >= (number, index)), len(places))
        chosen = places[start : start + size]
        positions = [(at, before + 1) for at, before in chosen]
        more = start + size < len(places) or self._pages[-1].next is not None
        rows = [self._pages[at - self._first].rows[before] for at, before in chosen]
        note = {} if more else with_note({}, self._pages[-1].ending)
        beside = {
            place: added
            for place, (at, index) in enumerate(chosen)
            if index == 0 and (added := self._added_beside(at - self._first))
        }
        return MemoryPage(rows, self.shape, positions, more, note, beside)

    def _added_beside(self, index: int) -> Mapping[str, Any]:
        """A later page's side data that the page before it does not have. Empty for the first page."""
        return side_data.added(self._pages[index].beside, self._pages[index - 1].beside) if index else {}

    @property
    def in_hand(self) -> MemoryRows | None:
        """All rows, if every page has been read; else None."""
        is_whole = bool(self._pages) and self._first == 0 and self._pages[-1].next is None
        return self._complete if is_whole else None

    @cached_property
    def _complete(self) -> MemoryRows:
        """All rows. Every page must have been read."""
        rows = [row for page in self._pages for row in page.rows]
        later = [self._added_beside(index) for index in range(1, len(self._pages))]
        loaded = Loaded(rows, self._note(), side_data.joined([self._pages[0].beside, *later]))
        return MemoryRows(lambda: loaded, self.shape, self.options, self.visibility)

    # -- Queries ------------------------------------------------------------------------------------

    def note(self) -> Mapping[str, Any]:
        return self._note()

    @property
    def queryable(self) -> QueryColumns:
        return self._complete.queryable

    def filtered(self, wanted: Conditions) -> MemoryRows:
        return self._complete.filtered(wanted)

    @property
    def unfiltered(self) -> MemoryRows:
        return self._complete

    def with_notes(self, notes: Sequence[str]) -> MemoryRows:
        return self._complete.with_notes(notes)

    def searched(self, words: SearchWords) -> MemoryRows:
        return self._complete.searched(words)

    def grouped(self, aggregation: Aggregation) -> Groups:
        return self._complete.grouped(aggregation)

    def everything(self, plan: Mapping[str, Any], block: BlockReader) -> Iterator[dict[str, Any]]:
        """Needs `gather_rest` first, unless the snapshot stores all rows."""
        if plan.get("growing"):
            return (row for page in self._pages for row in page.rows)
        return self._whole.everything(plan, block)

    # -- Stored pages, on a thread ------------------------------------------------------------------

    def _stored(self, snapshot: Snapshot, snapshots: Snapshots, size: float) -> list[SourcePage]:
        return stored_pages(snapshot, snapshots, self._first, size)


def _of_all_rows(request: AnswerRequest) -> str | None:
    """The argument for which all rows must be read, if there is one."""
    if request.format == HANDLE:
        return "format"
    if request.search is not None:
        return "search"
    return next((name for name in ("where", "aggregate") if name in request.arguments), None)


def is_growing(snapshot: Snapshot) -> bool:
    """Whether the snapshot stores only the pages that were read so far."""
    return bool(snapshot.plan.get("source", {}).get("growing"))


def stored_pages(snapshot: Snapshot, snapshots: Snapshots, first: int = 0, size: float = math.inf) -> list[SourcePage]:
    """The stored pages from number `first` on, until they have more than `size` rows. Raises InvalidCursor if page
    `first` is gone."""
    pages: list[SourcePage] = []
    for block in snapshots.blocks_from(snapshot, first):
        pages.append(SourcePage.unpack(block))
        size -= len(pages[-1].rows)
        if size < 0:
            break
    return pages


def _added(snapshot: Snapshot, snapshots: Snapshots, number: int, page: SourcePage) -> SourcePage:
    """Stores the page and returns the stored one: another call's, if that call stored it first."""
    return SourcePage.unpack(snapshots.add_block(snapshot, number, page.pack()))


def _unseen(
    rows: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]], identity: str
) -> Sequence[dict[str, Any]]:
    """Rows that are not in the previous page. Returns all rows if identities are missing or repeated in a page. A row
    with the identity of another one but other values is returned: entries of a log may have the id of what they are
    about, and a row twice is better than none."""
    seen, own = _identities(before, identity), _identities(rows, identity)
    if len(seen) < len(before) or len(own) < len(rows) or seen.isdisjoint(own):
        return rows
    earlier = {row[identity]: row for row in before}
    return [row for row in rows if row != earlier.get(row[identity])]


def _identities(rows: Sequence[Mapping[str, Any]], identity: str) -> set[str | int]:
    found = (row.get(identity) for row in rows)
    return {each for each in found if isinstance(each, (str, int)) and each != MASK}


def _places(pages: Sequence[SourcePage], first: int) -> Iterator[tuple[int, int]]:
    for number, page in enumerate(pages, start=first):
        for index in range(len(page.rows)):
            yield number, index
