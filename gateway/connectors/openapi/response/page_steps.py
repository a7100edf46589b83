"""Finds the next page of an upstream's list from the previous response. Pure: the caller sends the requests."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import orjson

from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.paging import Paging, PagingStyle
from gateway.connectors.openapi.response.dotted_paths import at, has
from gateway.upstreams.request import Response

_LINK = re.compile(r"<([^<>]*)>\s*((?:;\s*[\w*!-]+\s*=\s*(?:\"[^\"]*\"|[^\s,;\"]+)\s*)*)")
_NEXT = re.compile(r";\s*rel\s*=\s*(?:\"(?:[^\"]*\s)?next(?:\s[^\"]*)?\"|next\b)", re.IGNORECASE)
_IS_EMPTY = re.compile(r";\s*results\s*=\s*\"?false", re.IGNORECASE)  # some upstreams link to a next page without rows
_ROUND = (10, 25)  # sizes of pages are multiples of them
_A_URL = re.compile(r"https?://|/|\?", re.IGNORECASE)

# A cursor in base64 may begin with a slash, but has no question mark.
_URL_AS_CURSOR = re.compile(r"https?://|/?[^?\s]*\?[^=\s]+=", re.IGNORECASE)

Query = Mapping[str, str | int]


@dataclass(frozen=True, slots=True)
class PageStep:
    """The request of a page: with `query` added to the call's request, or, if `url` is set, at that URL with nothing
    added. `url` may be relative to the request's. `rows`: the number of rows before this page. `seen`: digests of the
    previous steps and pages."""

    query: Query
    url: str = ""
    size: int | None = None
    rows: int = 0
    seen: frozenset[bytes] = frozenset()


@dataclass(frozen=True, slots=True)
class Done:
    """There are no more pages. `looped`: upstream's next page is one that was already seen. `elsewhere`: the URL of
    the next page has another host, which must not be called."""

    looped: bool = False
    elsewhere: bool = False


def first(paging: Paging, size: int | None = None) -> PageStep:
    """The first page, of `size` rows or as many as upstream allows."""
    requested = min(size, paging.size_maximum or size) if size is not None and paging.size else None
    query: dict[str, str | int] = {paging.size: requested} if requested is not None else {}
    if paging.style is PagingStyle.PAGE:
        query[paging.position] = paging.start
    return PageStep(query, size=requested if requested is not None else paging.size_default)


def following(
    paging: Paging, answer: Response, body: Any, rows: Sequence[Mapping[str, Any]], so_far: PageStep
) -> PageStep | Done:
    """The step after `so_far`, whose response has this `body` and these `rows`."""
    query, url = _next(paging, answer, body, rows, so_far)
    if query is None and not url:
        url = linked(answer)
    if query is None and not url:
        return Done()
    size_query = {name: value for name, value in so_far.query.items() if name == paging.size}
    whole = {} if url else {**size_query, **(query or {})}
    step, page = _digest([sorted(whole.items()), url]), _digest(rows)
    if step in so_far.seen or (rows and page in so_far.seen):
        return Done(looped=True)
    size = min(so_far.size, len(rows)) if so_far.size is not None else None
    return PageStep(whole, url, size, so_far.rows + len(rows), so_far.seen | {step, page})


_Next = tuple[dict[str, str | int] | None, str]
_END: _Next = (None, "")


def _next(paging: Paging, answer: Response, body: Any, rows: Sequence[Mapping[str, Any]], so_far: PageStep) -> _Next:
    match paging.style:
        case PagingStyle.LINK:
            return None, linked(answer)
        case PagingStyle.NEXT_URL:
            return None, _url(at(body, paging.next))
        case PagingStyle.CURSOR:
            return _after_cursor(paging, body)
        case PagingStyle.LAST_ID:
            return _after_last_id(paging, answer, body, rows, so_far)
        case PagingStyle.OFFSET:
            more = bool(rows) and _has_more(paging, answer, body, rows, so_far)
            return ({paging.position: paging.start + so_far.rows + len(rows)}, "") if more else _END
        case PagingStyle.PAGE:
            more = bool(rows) and _has_more(paging, answer, body, rows, so_far)
            return ({paging.position: int(so_far.query.get(paging.position, paging.start)) + 1}, "") if more else _END


def _after_last_id(
    paging: Paging, answer: Response, body: Any, rows: Sequence[Mapping[str, Any]], so_far: PageStep
) -> _Next:
    if url := linked(answer):  # more reliable than an id
        return None, url
    ids = [at(row, paging.key or conventions.ID) for row in rows]
    if not ids or ids[-1] is None or not _has_more(paging, answer, body, rows, so_far):
        return _END
    is_backwards = paging.backwards and not _states_more(paging, body) and _descend(ids)
    return {paging.backwards if is_backwards else paging.position: _scalar(ids[-1])}, ""


def _descend(ids: Sequence[Any]) -> bool:
    """Whether the ids are numbers, the largest first: rows with smaller ids follow then."""
    if len(ids) < 2 or not all(str(each).isascii() and str(each).isdigit() for each in ids):
        return False
    numbers = [int(each) for each in ids]
    return all(one > two for one, two in pairwise(numbers))


def _states_more(paging: Paging, body: Any) -> bool:
    return bool(paging.has_more) and isinstance(at(body, paging.has_more), bool)


def _after_cursor(paging: Paging, body: Any) -> _Next:
    if paging.has_more and at(body, paging.has_more) is False:
        return _END
    cursor = at(body, paging.next)
    if not is_cursor(cursor):
        return _END
    is_url = isinstance(cursor, str) and _URL_AS_CURSOR.match(cursor)
    return (None, str(cursor)) if is_url else ({paging.position: cursor}, "")


def is_cursor(value: Any) -> bool:
    """Whether the value leads to a next page. Upstreams whose cursors are numbers end with 0."""
    return value != "" if isinstance(value, str) else type(value) is int and value > 0


def _has_more(paging: Paging, answer: Response, body: Any, rows: Sequence[Mapping[str, Any]], so_far: PageStep) -> bool:
    """Whether more rows follow, by upstream's own flag or link, or else by its total. Without these, a page that is not
    full is the last."""
    if _states_more(paging, body):
        return bool(at(body, paging.has_more))
    if paging.next and has(body, paging.next):
        return bool(at(body, paging.next))
    total = _total(paging, answer, body)
    # Some upstreams give the number of rows on the page as their total.
    if total is not None and total != len(rows):
        return so_far.rows + len(rows) < total
    if so_far.size is None or len(rows) >= so_far.size:
        return True
    # Upstream may have a lower maximum, or ignore the size. The next page then shows whether rows remain.
    if so_far.rows or so_far.size == paging.size_default:
        return False
    return paging.size_maximum is None or _may_be_full(paging, len(rows))


def _may_be_full(paging: Paging, count: int) -> bool:
    """Whether upstream may have chosen this number of rows itself: its default, or a round number."""
    return count == paging.size_default or any(count % each == 0 for each in _ROUND)


def is_unreadable(paging: Paging, body: Any) -> bool:
    """Whether the response has a value where the next page's URL was expected, but the value is not a URL."""
    stated = at(body, paging.next) if paging.style is PagingStyle.NEXT_URL else None
    return bool(stated) and not _url(stated)


def total(
    paging: Paging, answer: Response, body: Any, rows: Sequence[Mapping[str, Any]], following: PageStep | Done
) -> int | None:
    """The total number of rows, if upstream states it. A total equal to the number of rows on the page is ignored if
    pages follow."""
    stated = _total(paging, answer, body)
    return None if stated == len(rows) and isinstance(following, PageStep) else stated


def is_certain(paging: Paging, answer: Response, body: Any, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether upstream itself states whether rows follow. Otherwise this is inferred from whether the page is full."""
    if paging.style in (PagingStyle.LINK, PagingStyle.NEXT_URL, PagingStyle.CURSOR):
        return True
    stated = _states_more(paging, body) or (paging.next and has(body, paging.next))
    return bool(stated) or _total(paging, answer, body) not in (None, len(rows))


def _total(paging: Paging, answer: Response, body: Any) -> int | None:
    kind, _, header = paging.total.partition(":")
    stated = answer.headers.get(header) if kind == "header" else at(body, paging.total) if paging.total else None
    if isinstance(stated, str) and stated.isascii() and stated.isdigit():
        return int(stated)
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else None


def linked(answer: Response) -> str:
    """The URL of the Link header's rel="next" (RFC 8288); empty if there is none."""
    links = _LINK.findall(answer.headers.get("link", ""))
    return next((url for url, parameters in links if _NEXT.search(parameters) and not _IS_EMPTY.search(parameters)), "")


def _url(stated: Any) -> str:
    """The URL of a link, which may be an object with `href`; empty if it is not a URL."""
    link = stated.get("href") if isinstance(stated, dict) else stated
    return link if isinstance(link, str) and _A_URL.match(link) else ""


def _scalar(value: Any) -> str | int:
    return value if isinstance(value, int) else str(value)


def _digest(value: Any) -> bytes:
    return blake2b(orjson.dumps(value, default=str), digest_size=16).digest()
