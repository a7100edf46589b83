"""Tries a paging: reads the first pages of an operation's list, and reports what each one had."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from context_protection.core.errors import CallError
from gateway.connectors.openapi.call import Calling, UpstreamPages
from gateway.connectors.openapi.request import requests
from gateway.connectors.openapi.response import evidence, page_steps

PAGES = 3
SIZE = 50
LONGEST_ID = 60  # characters


@dataclass(frozen=True, slots=True)
class TriedPage:
    """`asked`: the parameters that were added to the request, or its URL. `repeated`: how many rows were on an earlier
    page."""

    number: int
    asked: str
    rows: int
    repeated: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class PagingTrial:
    """`goes_on`: a page follows the last one that was tried. `beside`: names and values around the rows of the first
    page, in which cursors and totals are found."""

    pages: Sequence[TriedPage] = ()
    goes_on: bool = False
    total: int | None = None
    notes: Sequence[str] = ()
    beside: Sequence[tuple[str, str]] = ()
    problem: str = ""

    @property
    def verdict(self) -> str:
        if self.problem or not self.pages:
            return ""
        rows = sum(page.rows for page in self.pages)
        if any(page.repeated for page in self.pages):
            return "Pages repeat rows: this paging is wrong, or the list changes while it is read."
        if self.goes_on:
            return f"{len(self.pages)} pages gave {rows:,} different rows, and more follow: this paging works."
        return f"The list ends after {rows:,} rows on {len(self.pages)} {'page' if len(self.pages) == 1 else 'pages'}."


async def try_paging(calling: Calling, arguments: Mapping[str, Any]) -> PagingTrial:
    """Never raises CallError: the trial states the problem instead."""
    try:
        return await (_walked(calling, arguments) if calling.paging else _read_once(calling, arguments))
    except CallError as error:
        return PagingTrial(problem=" ".join(filter(None, [error.message, error.suggestion])))


async def _walked(calling: Calling, arguments: Mapping[str, Any]) -> PagingTrial:
    assert calling.paging is not None
    source = UpstreamPages(calling, calling.paging, arguments)
    seen: set[bytes] = set()
    page = await source.page(None, SIZE)
    beside = _beside(page.beside)
    pages = [_tried_page(1, _shown(page_steps.first(calling.paging, SIZE).query), page.rows, seen)]
    while page.next is not None and len(pages) < PAGES:
        query, url, *_ = page.next
        page = await source.page(page.next, SIZE)
        pages.append(_tried_page(len(pages) + 1, url or _shown(query), page.rows, seen))
    notes = [page.ending] if page.ending else []
    return PagingTrial(pages, page.next is not None, page.total, notes, beside)


async def _read_once(calling: Calling, arguments: Mapping[str, Any]) -> PagingTrial:
    request = requests.build(calling.spec, arguments, calling.base_url)
    response, answered = await calling.ask(request, calling.cache_seconds)
    if answered.rows is None:
        names = _beside(answered.record or {})
        return PagingTrial(beside=names, problem="The answer is not read as a list. Enter the path of its rows.")
    more = evidence.of_more(response, answered.body, answered.path, len(answered.rows))
    notes = [f"Upstream says that more rows follow: {more}."] if more else []
    return PagingTrial([_tried_page(1, "", answered.rows, set())], False, None, notes, _beside(answered.rest))


def _tried_page(number: int, asked: str, rows: Sequence[Mapping[str, Any]], seen: set[bytes]) -> TriedPage:
    digests = [orjson.dumps(row, default=str) for row in rows]
    repeated = sum(each in seen for each in digests)
    seen.update(digests)
    first, last = (_named(rows[0]), _named(rows[-1])) if rows else ("", "")
    return TriedPage(number, asked, len(rows), repeated, first, last)


def _named(row: Mapping[str, Any]) -> str:
    """The value that identifies a row: its id, or else its first value."""
    return str(row.get("id", next(iter(row.values()), "")))[:LONGEST_ID]


def _shown(query: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in query.items())


def _beside(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = {}
    for name, value in fields.items():
        below = (
            {f"{name}.{step}": each for step, each in value.items()} if isinstance(value, Mapping) else {name: value}
        )
        found.update({path: str(each)[:LONGEST_ID] for path, each in below.items() if not isinstance(each, list)})
    return list(found.items())[:20]
