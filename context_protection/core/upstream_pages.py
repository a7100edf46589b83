"""A list that upstream serves in pages of its own. It is read only as far as callers page.

The snapshot (`Walk`) stores every page once, when it is read. The same cursor therefore returns the same rows again, in
any process, without a call to upstream. If an insertion upstream moves a row onto the next page during paging, the row
is not sent twice.
"""

import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, TypeVar

import orjson

from context_protection.core import lists
from context_protection.core.budget import dumps
from context_protection.core.cached_property import cached_property
from context_protection.core.cursors import Walk, Walks
from context_protection.core.errors import EmptyPages, InvalidArgument
from context_protection.core.payloads import AS_ITEMS, Ask, BlockReader, Manner, Opening
from context_protection.core.policy import Policy
from context_protection.core.query.aggregates import Aggregation, Groups
from context_protection.core.query.columns import AskedColumns
from context_protection.core.query.conditions import Conditions
from context_protection.core.rows import Loaded, MemoryPage, MemoryRows
from context_protection.core.shapes import ANY, Shape

MOST_ROWS = 10_000  # rows that are read for one query over all rows
MOST_EMPTY = 20  # consecutive pages without rows, after which upstream is assumed to loop
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourcePage:
    """Rows as upstream sent them. `next` (JSON): the token of the next page; None on the last one. `certain`: a next
    page, if any, has rows; else it may be empty. `total`: the number of all rows, if upstream gives it. `as_of`: when
    the page was read, Unix seconds. `fresh_until`: the time.monotonic() until which the page is fresh. `note`:
    goes to the first answer's `meta`. `beside`: see Opening."""

    rows: Sequence[dict[str, Any]]
    next: Any = None
    total: int | None = None
    certain: bool = True
    as_of: float = 0.0
    fresh_until: float = 0.0
    note: Mapping[str, Any] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)

    def pack(self) -> bytes:
        return dumps([self.rows, self.next, self.total, self.certain])

    @classmethod
    def unpack(cls, data: bytes) -> "SourcePage":
        rows, following, total, certain = orjson.loads(data)
        return cls(rows, following, total, certain)


class PageSource(Protocol):
    async def page(self, token: Any, size: int) -> SourcePage:
        """The page at `token`, the `next` of another page; None: the first page. It has about `size` rows if upstream
        lets the caller choose. Raises CallError."""


class OnThread(Protocol):
    def __call__(self, work: Callable[[], T], /) -> Awaitable[T]: ...


class PagedRows:
    """Rows of an upstream's paged list. Call `gather` first: it reads the pages that the call needs."""

    def __init__(
        self,
        source: PageSource,
        shape: Shape = ANY,
        manner: Manner = AS_ITEMS,
        reveal: frozenset[str] = frozenset(),
    ) -> None:
        self.source, self.shape, self.manner, self.reveal = source, shape, manner, reveal
        self._pages: list[SourcePage] = []
        self._first = 0  # the number of the first page in `_pages`
        self._whole = MemoryRows((), shape, manner)  # the rows of a list that `open` found read to its end

    # -- Reading, on the event loop -----------------------------------------------------------------

    async def gather(self, ask: Ask, policy: Policy, on_thread: OnThread, walks: Walks) -> None:
        """Reads the pages that a call needs: first the stored ones, then upstream's. Raises CallError."""
        if ask.walk is None:
            await self._open(ask, policy)
        elif is_growing(ask.walk):
            self._first, index = ask.position
            size = index + lists.size_of_next(ask, ask.walk, policy)
            self._pages = await on_thread(partial(self._stored, ask.walk, walks, size))
            await self._read_on(size, partial(_added, ask.walk, walks), on_thread)

    async def gather_rest(self, known: Sequence[SourcePage]) -> None:
        """Reads all pages after the known ones. Raises InvalidArgument if there are too many rows."""
        self._pages = list(known)
        while self._pages[-1].next is not None:
            self._check_bounded("handle", None)
            self._pages.append(await self._following())
            self._check_rows_come()

    async def _open(self, ask: Ask, policy: Policy) -> None:
        parameter = next((name for name in ("where", "aggregate") if name in ask.arguments), None)
        size = lists.page_size(ask.limit, policy) if policy.pagination else lists.UNPAGED_ROWS
        wanted = math.inf if parameter else size * (ask.pages[1] if ask.pages else 1)
        self._pages = [await self.source.page(None, size)]
        while self._lacks(wanted):
            if parameter:
                self._check_bounded(parameter, ask.arguments[parameter])
            self._pages.append(await self._following())
            self._check_rows_come()

    async def _read_on(self, wanted: int, added: Callable[[int, SourcePage], SourcePage], on_thread: OnThread) -> None:
        while self._lacks(wanted):
            number, page = self._first + len(self._pages), await self._following()
            self._pages.append(await on_thread(partial(added, number, page)))
            self._check_rows_come()

    async def _following(self) -> SourcePage:
        """The page after the last one. A page that repeats the last page's rows ends the list: upstream loops."""
        last = self._pages[-1]
        page = await self.source.page(last.next, len(last.rows))
        if page.rows and page.rows == last.rows:
            return SourcePage((), total=page.total)
        return replace(page, rows=_unseen(page.rows, last.rows, self.shape.identity))

    def _lacks(self, wanted: float) -> bool:
        last = self._pages[-1]
        known = sum(len(page.rows) for page in self._pages)
        return last.next is not None and (known < wanted or (known == wanted and not last.certain))

    def _check_rows_come(self) -> None:
        latest = self._pages[-MOST_EMPTY:]
        if len(latest) == MOST_EMPTY and not any(page.rows for page in latest):
            raise EmptyPages(
                f"Upstream gave {MOST_EMPTY} pages in a row without a row, and says that more follow.",
                reason="upstream_empty_pages",
                suggestion="Narrow the list with the operation's own filters. If it stays, tell the operator.",
            )

    def _check_bounded(self, parameter: str, value: Any) -> None:
        known, total = sum(len(page.rows) for page in self._pages), self._pages[0].total or 0
        if max(known, total) <= MOST_ROWS:
            return
        raise InvalidArgument(
            f"{parameter} looks at all rows, which are {'more than ' if not total else ''}{max(known, total):,} here.",
            reason="too_many_rows",
            parameter=parameter,
            value=value,
            expected=f"a list of at most {MOST_ROWS:,} rows",
            suggestion="Narrow the list with the operation's own filters, or page through it with nextCursor.",
        )

    # -- Rows ---------------------------------------------------------------------------------------

    @property
    def fresh_until(self) -> float:
        return min(page.fresh_until for page in self._pages)

    def open(self) -> Opening:
        first = self._pages[0]
        if self._pages[-1].next is None:
            self._whole = self._complete
            return self._whole.open()
        plan = {"growing": True, "asOf": first.as_of}  # asOf: a list that was read again is another snapshot
        return Opening(first.total, plan, lambda: [page.pack() for page in self._pages], first.note, first.beside)

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
        return MemoryPage(rows, self.shape, positions, more=more)

    @cached_property
    def _complete(self) -> MemoryRows:
        """All rows, of a list that was read to its end."""
        rows = [row for page in self._pages for row in page.rows]
        loaded = Loaded(rows, self._pages[0].note, self._pages[0].beside)
        return MemoryRows(lambda: loaded, self.shape, self.manner, self.reveal)

    # -- Queries ------------------------------------------------------------------------------------

    def note(self) -> Mapping[str, Any]:
        return self._pages[0].note

    @property
    def askable(self) -> AskedColumns:
        return self._complete.askable

    def filtered(self, wanted: Conditions) -> MemoryRows:
        return self._complete.filtered(wanted)

    def grouped(self, asked: Aggregation) -> Groups:
        return self._complete.grouped(asked)

    def everything(self, plan: Mapping[str, Any], block: BlockReader) -> Iterator[dict[str, Any]]:
        """Needs `gather_rest` first, unless the snapshot stores all rows."""
        if plan.get("growing"):
            return (row for page in self._pages for row in page.rows)
        return self._whole.everything(plan, block)

    # -- Stored pages, on a thread ------------------------------------------------------------------

    def _stored(self, walk: Walk, walks: Walks, size: float) -> list[SourcePage]:
        return stored_pages(walk, walks, self._first, size)


def is_growing(walk: Walk) -> bool:
    """Whether the snapshot stores only the pages that were read so far."""
    return bool(walk.plan.get("source", {}).get("growing"))


def stored_pages(walk: Walk, walks: Walks, first: int = 0, size: float = math.inf) -> list[SourcePage]:
    """The stored pages from number `first` on, until they have more than `size` rows. Raises InvalidCursor if page
    `first` is gone."""
    pages: list[SourcePage] = []
    for block in walks.blocks_from(walk, first):
        pages.append(SourcePage.unpack(block))
        size -= len(pages[-1].rows)
        if size < 0:
            break
    return pages


def _added(walk: Walk, walks: Walks, number: int, page: SourcePage) -> SourcePage:
    """Stores the page and returns the stored one, which is that of another call if it was faster."""
    return SourcePage.unpack(walks.add_block(walk, number, page.pack()))


def _unseen(
    rows: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]], identity: str
) -> Sequence[dict[str, Any]]:
    """Rows that the page before does not have. Returns all rows if identities are missing or repeated in a page."""
    seen, own = _identities(before, identity), _identities(rows, identity)
    if len(seen) < len(before) or len(own) < len(rows):
        return rows
    return [row for row in rows if row[identity] not in seen]


def _identities(rows: Sequence[Mapping[str, Any]], identity: str) -> set[str | int]:
    return {row[identity] for row in rows if isinstance(row.get(identity), (str, int))}


def _places(pages: Sequence[SourcePage], first: int) -> Iterator[tuple[int, int]]:
    for number, page in enumerate(pages, start=first):
        for index in range(len(page.rows)):
            yield number, index
