"""The lines of a text as rows: their numbers and texts and, for a log, the times and levels of its entries."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from context_protection.core.payloads import Piece
from context_protection.core.results.tabulation import Column, moment
from context_protection.core.splitting.forms import TextForm
from context_protection.core.splitting.logs import CONTINUATION, ENTRY, MARKED_SHARE

TIME_WITHIN = 80  # characters at the start of a line in which its time and its level are recognised
FIRST_LINES = 200  # that show whether entries of a log have a mark
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_LEVEL = re.compile(
    r"(?<![\w.])(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|CRITICAL|FATAL|ALERT|EMERG)(?![\w.])", re.ASCII
)
COLUMNS = (Column("line", "line", "number"), Column("text", "text", "text"))
_NO_ENTRY: Mapping[str, Any] = {"time": None, "level": None}
COLUMNS_OF_ENTRIES = (*COLUMNS, Column("time", "time", "moment"), Column("level", "level", "text"))


def columns(form: TextForm) -> Sequence[Column]:
    return COLUMNS_OF_ENTRIES if form is TextForm.LOG else COLUMNS


def rows(pieces: Iterable[Piece], form: TextForm) -> Iterator[dict[str, Any]]:
    """The lines in order. In a log, a line that does not begin an entry has neither time nor level."""
    return _with_entries(_lines(pieces)) if form is TextForm.LOG else _lines(pieces)


def _lines(pieces: Iterable[Piece]) -> Iterator[dict[str, Any]]:
    number, rest = 1, ""
    for piece in pieces:
        *whole, rest = (rest + piece.text).split("\n")
        for text in whole:
            yield _line(number, text)
            number += 1
    if rest or number == 1:  # an empty text has one empty line
        yield _line(number, rest)


def _line(number: int, text: str) -> dict[str, Any]:
    return {"line": number, "text": text.removesuffix("\r")}


def _with_entries(lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines with the times and levels of entries. If few of the first lines have the mark of an entry, every line
    begins one that does not look like a continuation: some logs have no marks that we know."""
    first = list(islice(lines, FIRST_LINES))
    marked = sum(ENTRY.match(line["text"]) is not None for line in first)
    at_margin = sum(CONTINUATION.match(line["text"]) is None for line in first)
    are_marked = marked > 0 and marked >= MARKED_SHARE * at_margin
    for line in chain(first, lines):
        begins = ENTRY.match(line["text"]) or not (are_marked or CONTINUATION.match(line["text"]))
        yield {**line, **(_entry(line["text"]) if begins else _NO_ENTRY)}


def _entry(text: str) -> Mapping[str, Any]:
    head = text[:TIME_WITHIN]
    time, level = _TIME.search(head), _LEVEL.search(head)
    return {"time": moment(time[0].replace(",", ".")) if time else None, "level": level[1] if level else None}
