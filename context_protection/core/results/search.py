"""Searches a stored result: its rows, one record, or a text of any length.

A search takes at most SECONDS, unless its caller sets another limit; inside a regular expression, only processor time
counts. If it stops early, `next_from` says where the next search continues, so that nothing is skipped or found twice.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import regex

from context_protection.core.budget import dumps
from context_protection.core.cached_property import cached_property
from context_protection.core.patterns import OVERLAP, SECONDS, WINDOW, Finder, Pattern, WindowFinder, invalid

DEFAULT_HITS, MAX_HITS = 50, 5_000
SNIPPET_CHARS = 160
BLOCK = 2**20  # characters of a long text that are processed at a time
_BREAKS = regex.compile(r"[\r\n\t]+")
_PLACE = regex.compile(r"(\d{1,12})(?:\.(\d{1,12}))?", regex.ASCII)


@dataclass(frozen=True, slots=True)
class Hit:
    """One match. A match in rows has `row` (from 0), the row's `id` and the value's `path`; in a record `path`; in a
    text `line` (from 1) and `offset`, that of the match's first character. `match`: the match with context, at most
    SNIPPET_CHARS."""

    match: str
    path: str | None = None
    row: int | None = None
    id: Any = None
    line: int | None = None
    offset: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name in _HIT_NAMES if (value := getattr(self, name)) is not None}


_HIT_NAMES = ("row", "id", "line", "path", "match")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search. `total`: the number of hits from the start of the search; None after a timeout (then
    `complete` is false). `next_from`: the `from` of the next search; None at the end. `passed_over`: a place that was
    skipped because it alone used up the time."""

    hits: tuple[Hit, ...]
    total: int | None
    complete: bool
    next_from: str | None
    passed_over: str | None = None

    def document(self) -> dict[str, Any]:
        optional = {"totalCount": self.total, "nextFrom": self.next_from, "passedOver": self.passed_over}
        present = {name: value for name, value in optional.items() if value is not None}
        return {"hits": [hit.document() for hit in self.hits], "complete": self.complete, **present}


# -- Progress ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class ResultPlace:
    """A row or line, and the number of a value in it: `12`, or `12.3`."""

    row: int
    value: int = 0

    def __str__(self) -> str:
        return f"{self.row}.{self.value}" if self.value else str(self.row)

    @classmethod
    def of(cls, start: str | int | None, first: int = 0) -> "ResultPlace":
        """Parses a caller's `from`. Raises InvalidArgument."""
        if start is None:
            return cls(first)
        if not (match := _PLACE.fullmatch(str(start))):
            expected = "a row or line number, or the nextFrom of a search"
            raise invalid("from", start, "from is not a place in this result.", expected, "Leave from out.")
        return cls(int(match[1]), int(match[2] or 0))


@dataclass
class _ResultSearch:
    """A search in progress."""

    pattern: Pattern
    limit: int
    seconds: float
    began: float = field(default_factory=time.monotonic)
    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    omitted: ResultPlace | None = None  # the first hit over the limit
    opened: ResultPlace | None = None  # the first place that was searched

    @cached_property
    def deadline(self) -> float:
        return self.began + self.seconds

    def check_time(self, row: int, value: int = 0) -> float:
        """The remaining seconds. Raises _TimeUp if there are none."""
        if (left := self.deadline - time.monotonic()) <= 0:
            raise _TimeUp(ResultPlace(row, value))
        return left

    def look(
        self, number: int, value: int, text: str, finder: Finder | None = None, begin: int | None = None, **where: Any
    ) -> bool:
        """Searches one value, or a window of one by its `finder`; returns whether it is a hit. `begin`: the offset of
        the value in its text. Raises _TimeUp after a timeout."""
        place = ResultPlace(number, value)
        left = self.check_time(number, value)
        self.opened = self.opened or place
        try:
            span = (finder or self.pattern).find(text, left)
        except TimeoutError:
            raise _TimeUp(place) from None
        if span is None:
            return False
        self.total += 1
        if len(self.hits) < self.limit:
            offset = None if begin is None else begin + span[0]
            self.hits.append(Hit(snippet(text, *span), offset=offset, **where))
        elif self.omitted is None:
            self.omitted = place
        return True

    def finished(self) -> SearchResult:
        return SearchResult(tuple(self.hits), self.total, True, str(self.omitted) if self.omitted else None)

    def stopped(self, place: ResultPlace, following: ResultPlace) -> SearchResult:
        """The result of a timeout at `place`. If that place alone used up the time, the next search begins after it,
        because it would time out again."""
        alone = place == self.opened
        goes_on = self.omitted or (following if alone else place)
        return SearchResult(tuple(self.hits), None, False, str(goes_on), str(place) if alone else None)


class _TimeUp(Exception):
    """The search timed out before or in the value at `place`."""

    def __init__(self, place: ResultPlace) -> None:
        super().__init__(str(place))
        self.place = place


def _search(wanted: Pattern, limit: int, seconds: float) -> _ResultSearch:
    if not 1 <= limit <= MAX_HITS:
        expected = f"a whole number from 1 to {MAX_HITS}"
        suggestion = f"Set limit to {min(max(limit, 1), MAX_HITS)}, and follow nextFrom for more."
        raise invalid("limit", limit, "limit is out of range.", expected, suggestion)
    return _ResultSearch(wanted, limit, seconds)


# -- Rows, records and texts ------------------------------------------------------------------------


def search_rows(
    rows: Sequence[Any],
    wanted: Pattern,
    *,
    identity: str = "id",
    start: str | int | None = None,
    limit: int = DEFAULT_HITS,
    seconds: float = SECONDS,
) -> SearchResult:
    """Hits in the texts and numbers of `rows`, at most one per value. Raises InvalidArgument (limit, from)."""
    search, first = _search(wanted, limit, seconds), ResultPlace.of(start)
    try:
        for index in range(first.row, len(rows)):
            row = rows[index]
            search.check_time(index, first.value if index == first.row else 0)
            if _rules_out(wanted, row):
                continue
            name = row.get(identity) if isinstance(row, dict) else None
            where = {"row": index, "id": name if isinstance(name, (str, int)) else None}
            _look_into(search, row, index, first, where)
    except _TimeUp as stop:
        return search.stopped(stop.place, ResultPlace(stop.place.row, stop.place.value + 1))
    return search.finished()


def search_value(
    value: Any,
    wanted: Pattern,
    *,
    start: str | int | None = None,
    limit: int = DEFAULT_HITS,
    seconds: float = SECONDS,
) -> SearchResult:
    """Hits in the texts and numbers of one JSON value. Raises InvalidArgument (limit, from)."""
    search, first = _search(wanted, limit, seconds), ResultPlace.of(start)
    try:
        _look_into(search, value, 0, first, {})
    except _TimeUp as stop:
        return search.stopped(stop.place, ResultPlace(stop.place.row, stop.place.value + 1))
    return search.finished()


def _look_into(search: _ResultSearch, value: Any, row: int, first: ResultPlace, where: dict[str, Any]) -> None:
    skipped = first.value if row == first.row else 0
    for ordinal, (path, text) in enumerate(leaves(value)):
        if ordinal >= skipped:
            search.look(row, ordinal, text, path=path, **where)


def _rules_out(wanted: Pattern, row: Any) -> bool:
    """Whether the row's JSON rules out a match. Serializing the row is faster than searching its values one by one."""
    try:
        return wanted.rules_out_json(dumps(row).decode())
    except TypeError:  # lone surrogates, or nested too deeply
        return False


def leaves(value: Any) -> Iterator[tuple[str, str]]:
    """Every text and number in `value` with its path (`guest.notes`, `items[0].name`), in order, at any depth."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        path, value = waiting.pop()
        match value:
            case str():
                yield path, value
            case bool() | None:
                continue
            case int() | float():
                yield path, _numeral(value)
            case dict():
                below = [(f"{path}.{name}" if path else str(name), each) for name, each in value.items()]
                waiting.extend(reversed(below))
            case list():
                waiting.extend((f"{path}[{index}]", value[index]) for index in reversed(range(len(value))))


def _numeral(value: float) -> str:
    """The number as written in JSON."""
    try:
        return dumps(value).decode()
    except TypeError:  # over 64 bits
        return str(Decimal(value))


def search_text(
    pieces: Iterable[tuple[int, int, str]],
    wanted: Pattern,
    *,
    start: str | int | None = None,
    limit: int = DEFAULT_HITS,
    seconds: float = SECONDS,
) -> SearchResult:
    """Hits in a text, at most one per line. `pieces`: tuples of the first line's number, the offset and the characters.
    Holds at most one block in memory. Lines over WINDOW characters are searched in windows that overlap by OVERLAP; the
    words of a search may be in different windows. Raises InvalidArgument (limit, from)."""
    search, first = _search(wanted, limit, seconds), ResultPlace.of(start, first=1)
    hit_line = 0
    try:
        for line, begin, text, finder in _lines(pieces, first.row, search):
            if line >= first.row and line != hit_line and search.look(line, 0, text, finder, begin, line=line):
                hit_line = line
    except _TimeUp as stop:
        return search.stopped(stop.place, ResultPlace(stop.place.row + 1))
    return search.finished()


def _lines(
    pieces: Iterable[tuple[int, int, str]], first: int, search: _ResultSearch
) -> Iterator[tuple[int, int, str, Finder | None]]:
    """Yields lines with their numbers and offsets, without their line ends. A long line comes as overlapping windows,
    with the finder that all of them share. Skips blocks before line `first`, and blocks without a match. Raises
    _TimeUp."""
    line, rest, begin = 0, "", 0  # `begin`: the offset of `rest`
    shared: WindowFinder | None = None  # the finder of a long line that has not ended
    for first_line, offset, piece in pieces:
        line, begin = line or first_line, begin if line else offset
        for start in range(0, len(piece), BLOCK):
            whole, newline, rest = (rest + piece[start : start + BLOCK]).rpartition("\n")
            after = line + whole.count("\n") + len(newline)
            if newline and after > first:
                yield from _whole_lines(whole, line, begin, search.pattern, shared)
            shared = None if newline else shared
            line, begin = after, begin + len(whole) + len(newline)
            while len(rest) > WINDOW:
                shared = shared or search.pattern.in_windows()
                yield line, begin, rest[:WINDOW], shared
                rest, begin = rest[WINDOW - OVERLAP :], begin + WINDOW - OVERLAP
            search.check_time(line)
    if rest:
        yield line, begin, rest.removesuffix("\r"), shared and shared.at_end()


def _whole_lines(
    text: str, number: int, begin: int, wanted: Pattern, shared: WindowFinder | None
) -> Iterator[tuple[int, int, str, Finder | None]]:
    """Yields the lines of `text`, which begins at the offset `begin`, or none if no line can match. If a long line
    began before `text`, `shared` is its finder, and its end comes first in any case."""
    if shared:
        end, more, text = text.partition("\n")
        yield number, begin, end.removesuffix("\r"), shared.at_end()
        if not more:
            return
        number, begin = number + 1, begin + len(end) + 1
    if not wanted.rules_out(text):
        for each, line in enumerate(text.split("\n"), start=number):
            yield each, begin, line.removesuffix("\r"), None
            begin += len(line) + 1


# -- Snippets ---------------------------------------------------------------------------------------


def snippet(text: str, start: int, end: int) -> str:
    """The match with context, at most SNIPPET_CHARS; cut between words, with … at each cut."""
    end = min(end, start + SNIPPET_CHARS - 2)
    around = (SNIPPET_CHARS - 2 - (end - start)) // 2
    first, last = max(start - around, 0), min(end + around, len(text))
    if first > 0:
        first = _after_blank(text, first, start)
    if last < len(text):
        last = _before_blank(text, end, last)
    cut = text[first:last]
    return f"{'…' if first > 0 else ''}{_BREAKS.sub(' ', cut)}{'…' if last < len(text) else ''}"


def _after_blank(text: str, first: int, start: int) -> int:
    """The start of the first whole word from `first` on; `first` if no word begins before the match."""
    for index in range(first, start):
        if text[index - 1].isspace() or text[index].isspace():
            return index
    return first


def _before_blank(text: str, end: int, last: int) -> int:
    for index in range(last, end, -1):
        if text[index].isspace() or text[index - 1].isspace():
            return index
    return last
