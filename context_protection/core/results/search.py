"""Searches a stored result: its rows, one record, or a text of any length.

A search takes at most two seconds (inside a regular expression: two seconds of processor time). If it stops early,
`next_from` says where the next search continues, so that nothing is skipped or found twice.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

import regex

from context_protection.core.budget import dumps
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import InvalidArgument

SECONDS = 2.0
MOST_PATTERN_CHARS = 500
DEFAULT_HITS, MOST_HITS = 50, 200
SNIPPET_CHARS = 160
WINDOW, OVERLAP = 20_000, 1_000  # characters of a long text that a regex sees at a time, and that two windows share
BLOCK = 2**20  # characters of a long text that are processed at a time
_BREAKS = regex.compile(r"[\r\n\t]+")
MOST_STEPS = 20_000  # of a pattern with its repetitions written out
# Recursion takes unbounded memory; verbose mode (x) hides repetitions from _steps.
_REJECTED = regex.compile(r"\(\?(?:R|[+-]?\d+|&|P>)|\(\?[\w-]*x")
_STEP = regex.compile(r"\\.|[()]|\{(?P<times>\d{1,9})|.", regex.DOTALL)
_PLACE = regex.compile(r"(\d{1,12})(?:\.(\d{1,12}))?", regex.ASCII)


@dataclass(frozen=True, slots=True)
class Hit:
    """One match. In rows it has `row` (from 0), the row's `id` and the value's `path`; in a record `path`; in a text
    `line` (from 1). `match`: the match with its surroundings, at most SNIPPET_CHARS."""

    match: str
    path: str | None = None
    row: int | None = None
    id: Any = None
    line: int | None = None

    def document(self) -> dict[str, Any]:
        return {name: value for name in _HIT_NAMES if (value := getattr(self, name)) is not None}


_HIT_NAMES = ("row", "id", "line", "path", "match")


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search. `total`: all hits from where the search began; None if time ran out (then `complete` is
    false). `next_from`: the `from` that continues after these hits; None at the end. `passed_over`: a place that was
    skipped because it took all the time alone."""

    hits: tuple[Hit, ...]
    total: int | None
    complete: bool
    next_from: str | None
    passed_over: str | None = None

    def document(self) -> dict[str, Any]:
        optional = {"totalHits": self.total, "nextFrom": self.next_from, "passedOver": self.passed_over}
        said = {name: value for name, value in optional.items() if value is not None}
        return {"hits": [hit.document() for hit in self.hits], "complete": self.complete, **said}


# -- Patterns ---------------------------------------------------------------------------------------


class Pattern(Protocol):
    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        """The start and end of the first match, or None. Raises TimeoutError after `seconds`."""

    def rules_out(self, text: str) -> bool:
        """True if a cheap test shows that no part of `text` matches; False if it cannot tell."""

    def rules_out_json(self, text: str) -> bool:
        """The same for a value, given as its JSON."""


def pattern(text: str | None = None, expression: str | None = None) -> Pattern:
    """The pattern for `text` (case is ignored) or `regex`. Raises InvalidArgument unless exactly one of them is given
    and valid."""
    if (text is None) == (expression is None):
        raise _invalid("text", None, "Give either text or regex.", "one of text and regex", "Set text to a word.")
    if text is not None:
        _check_length("text", text)
        folded = text.casefold()
        return _Plain(folded, _written(folded))
    assert expression is not None
    _check_length("regex", expression)
    return _Regex(_compiled(expression))


def _check_length(parameter: str, value: str) -> None:
    if not 0 < len(value) <= MOST_PATTERN_CHARS:
        expected = f"1 to {MOST_PATTERN_CHARS} characters"
        raise _invalid(parameter, value, f"{parameter} has {len(value)} characters.", expected, "Search for less.")


def _compiled(expression: str) -> Any:
    if _REJECTED.search(expression):
        message = "regex calls itself or is verbose, which is not offered."
        raise _invalid("regex", expression, message, "a plain regular expression", "Use repetitions; leave (?x) out.")
    if _steps(expression) > MOST_STEPS:
        expected = f"repetitions that are {MOST_STEPS:,} steps when written out"
        raise _invalid("regex", expression, "regex repeats too often.", expected, "Use + or * for large counts.")
    try:
        return regex.compile(expression)
    except regex.error as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        message = f"regex cannot be read: {error.msg}{place}."
    except (ValueError, OverflowError, RecursionError, KeyError, IndexError, TypeError):
        message = "regex cannot be read."
    suggestion = "Correct it there, or search for plain text with text."
    raise _invalid("regex", expression, message, "a regular expression as Python has them", suggestion)


def _steps(expression: str) -> int:
    """An upper bound for the steps of the pattern with {n} written out. The regex engine writes it out, so nested
    repetitions take unbounded memory. Character classes in brackets are not parsed, which can only raise the bound."""
    groups, last = [0], 0
    for step in _STEP.finditer(expression):
        times = min(int(step["times"] or 1), MOST_STEPS + 1)
        if step[0] == "(":
            groups.append(0)
            last = 0
        elif step["times"]:
            groups[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
        else:
            last = 1 + (0 if step[0] != ")" else groups.pop() if len(groups) > 1 else groups[0])
            groups[-1] += last
    return sum(groups)


@dataclass(frozen=True, slots=True)
class _Plain:
    folded: str
    written: str | None  # the same, escaped as in JSON

    def rules_out(self, text: str) -> bool:
        return self.folded not in text.casefold()

    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        folded = text.casefold()
        if (start := folded.find(self.folded)) < 0:
            return None
        end = start + len(self.folded)
        return (start, end) if len(folded) == len(text) else (_unfolded(text, start), _unfolded(text, end - 1) + 1)

    def rules_out_json(self, text: str) -> bool:
        return self.written is not None and self.written not in text.casefold()


def _written(text: str) -> str | None:
    try:
        return dumps(text)[1:-1].decode()
    except TypeError:  # lone surrogates
        return None


def _unfolded(text: str, index: int) -> int:
    """The index in `text` of the character at `index` of the case-folded text: folding turns some characters into two
    or three."""
    for place, character in enumerate(text):
        index -= len(character.casefold())
        if index < 0:
            return place
    return len(text)


@dataclass(frozen=True, slots=True)
class _Regex:
    compiled: Any

    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        deadline = time.monotonic() + seconds
        for start in range(0, max(len(text) - OVERLAP, 1), WINDOW - OVERLAP):
            left = max(deadline - time.monotonic(), 0.001)
            try:
                match = self.compiled.search(text, start, start + WINDOW, timeout=left)
            except MemoryError:  # so much backtracking would not have ended in time either
                raise TimeoutError from None
            if match:
                return match.start(), match.end()
        return None

    def rules_out(self, text: str) -> bool:
        return False

    def rules_out_json(self, text: str) -> bool:
        return False


# -- Progress ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A row or line, and the number of a value in it: `12`, or `12.3`."""

    row: int
    value: int = 0

    def __str__(self) -> str:
        return f"{self.row}.{self.value}" if self.value else str(self.row)

    @classmethod
    def of(cls, start: str | int | None, first: int = 0) -> "Place":
        """Parses a caller's `from`. Raises InvalidArgument."""
        if start is None:
            return cls(first)
        if not (match := _PLACE.fullmatch(str(start))):
            expected = "a row or line number, or the nextFrom of a search"
            raise _invalid("from", start, "from is not a place in this result.", expected, "Leave from out.")
        return cls(int(match[1]), int(match[2] or 0))


@dataclass
class _Search:
    """A search in progress."""

    pattern: Pattern
    limit: int
    seconds: float
    began: float = field(default_factory=time.monotonic)
    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    omitted: Place | None = None  # the first hit over the limit
    opened: Place | None = None  # the first place that was searched

    @cached_property
    def deadline(self) -> float:
        return self.began + self.seconds

    def check_time(self, row: int, value: int = 0) -> float:
        """The seconds that are left. Raises _Stopped if time is up."""
        if (left := self.deadline - time.monotonic()) <= 0:
            raise _Stopped(Place(row, value))
        return left

    def look(self, number: int, value: int, text: str, **where: Any) -> bool:
        """Searches one value; returns whether it is a hit. Raises _Stopped when time is up."""
        place = Place(number, value)
        left = self.check_time(number, value)
        self.opened = self.opened or place
        try:
            span = self.pattern.find(text, left)
        except TimeoutError:
            raise _Stopped(place) from None
        if span is None:
            return False
        self.total += 1
        if len(self.hits) < self.limit:
            self.hits.append(Hit(snippet(text, *span), **where))
        elif self.omitted is None:
            self.omitted = place
        return True

    def finished(self) -> Found:
        return Found(tuple(self.hits), self.total, True, str(self.omitted) if self.omitted else None)

    def stopped(self, place: Place, following: Place) -> Found:
        """The result when time ran out at `place`. If that place took all the time, the next search begins after it: it
        would take all the time again."""
        alone = place == self.opened
        goes_on = self.omitted or (following if alone else place)
        return Found(tuple(self.hits), None, False, str(goes_on), str(place) if alone else None)


class _Stopped(Exception):
    """Time is up, before or in the value at `place`."""

    def __init__(self, place: Place) -> None:
        super().__init__(str(place))
        self.place = place


def _search(wanted: Pattern, limit: int, seconds: float) -> _Search:
    if not 1 <= limit <= MOST_HITS:
        expected = f"a whole number from 1 to {MOST_HITS}"
        suggestion = f"Set limit to {min(max(limit, 1), MOST_HITS)}, and follow nextFrom for more."
        raise _invalid("limit", limit, "limit is out of range.", expected, suggestion)
    return _Search(wanted, limit, seconds)


# -- Rows, records and texts ------------------------------------------------------------------------


def search_rows(
    rows: Sequence[Any],
    wanted: Pattern,
    *,
    identity: str = "id",
    start: str | int | None = None,
    limit: int = DEFAULT_HITS,
    seconds: float = SECONDS,
) -> Found:
    """Hits in the texts and numbers of `rows`, at most one for each value. Raises InvalidArgument (limit, from)."""
    search, first = _search(wanted, limit, seconds), Place.of(start)
    try:
        for index in range(first.row, len(rows)):
            row = rows[index]
            search.check_time(index, first.value if index == first.row else 0)
            if _rules_out(wanted, row):
                continue
            name = row.get(identity) if isinstance(row, dict) else None
            where = {"row": index, "id": name if isinstance(name, (str, int)) else None}
            _look_into(search, row, index, first, where)
    except _Stopped as stop:
        return search.stopped(stop.place, Place(stop.place.row, stop.place.value + 1))
    return search.finished()


def search_value(
    value: Any,
    wanted: Pattern,
    *,
    start: str | int | None = None,
    limit: int = DEFAULT_HITS,
    seconds: float = SECONDS,
) -> Found:
    """Hits in the texts and numbers of one JSON value. Raises InvalidArgument (limit, from)."""
    search, first = _search(wanted, limit, seconds), Place.of(start)
    try:
        _look_into(search, value, 0, first, {})
    except _Stopped as stop:
        return search.stopped(stop.place, Place(stop.place.row, stop.place.value + 1))
    return search.finished()


def _look_into(search: _Search, value: Any, row: int, first: Place, where: dict[str, Any]) -> None:
    skipped = first.value if row == first.row else 0
    for ordinal, (path, text) in enumerate(leaves(value)):
        if ordinal >= skipped:
            search.look(row, ordinal, text, path=path, **where)


def _rules_out(wanted: Pattern, row: Any) -> bool:
    """Whether the row's JSON has no match: writing the JSON is faster than searching the values one by one."""
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
    """The number as JSON writes it."""
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
) -> Found:
    """Hits in a text that comes in `pieces` (number of the first line, offset, characters), at most one for each line.
    Holds at most one block in memory. Lines over WINDOW characters are searched in windows that overlap by OVERLAP.
    Raises InvalidArgument (limit, from)."""
    search, first = _search(wanted, limit, seconds), Place.of(start, first=1)
    hit_line = 0
    try:
        for line, text in _lines(pieces, first.row, search):
            if line >= first.row and line != hit_line and search.look(line, 0, text, line=line):
                hit_line = line
    except _Stopped as stop:
        return search.stopped(stop.place, Place(stop.place.row + 1))
    return search.finished()


def _lines(pieces: Iterable[tuple[int, int, str]], first: int, search: _Search) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; a long line comes in overlapping windows. Skips blocks before line `first`, and blocks
    without a match. Raises _Stopped."""
    line, rest = 0, ""
    for first_line, _, piece in pieces:
        line = line or first_line
        for start in range(0, len(piece), BLOCK):
            whole, newline, rest = (rest + piece[start : start + BLOCK]).rpartition("\n")
            after = line + whole.count("\n") + len(newline)
            if newline and after > first and not search.pattern.rules_out(whole):
                yield from enumerate(whole.split("\n"), start=line)
            line = after
            while len(rest) > WINDOW:
                yield line, rest[:WINDOW]
                rest = rest[WINDOW - OVERLAP :]
            search.check_time(line)
    if rest:
        yield line, rest


# -- Snippets ---------------------------------------------------------------------------------------


def snippet(text: str, start: int, end: int) -> str:
    """The match with its surroundings, at most SNIPPET_CHARS; cut between words, with … at each cut."""
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


def _invalid(parameter: str, value: Any, message: str, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        message,
        reason=f"invalid_{parameter}",
        parameter=parameter,
        value=value,
        expected=expected,
        suggestion=suggestion,
    )
