"""The lines of a text as rows: their numbers and texts and, for a log, the times and levels of its entries."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from context_protection.core.payloads import Piece
from context_protection.core.results.tabulation import Column, moment
from context_protection.core.splitting.forms import TextForm

TIME_WITHIN = 80  # characters at the start of a line in which its time and its level are recognised
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)
_LEVEL = re.compile(
    r"(?<![\w.])(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|SEVERE|CRITICAL|FATAL|ALERT|EMERG)(?![\w.])", re.ASCII
)
COLUMNS = (Column("line", "line", "number"), Column("text", "text", "text"))
COLUMNS_OF_ENTRIES = (*COLUMNS, Column("time", "time", "moment"), Column("level", "level", "text"))


def columns(form: TextForm) -> Sequence[Column]:
    return COLUMNS_OF_ENTRIES if form is TextForm.LOG else COLUMNS


def rows(pieces: Iterable[Piece], form: TextForm) -> Iterator[dict[str, Any]]:
    """The lines in order. In a log, a line that does not begin an entry has neither time nor level."""
    number, rest = 1, ""
    for piece in pieces:
        *whole, rest = (rest + piece.text).split("\n")
        for text in whole:
            yield _row(number, text, form)
            number += 1
    if rest or number == 1:  # an empty text has one empty line
        yield _row(number, rest, form)


def _row(number: int, text: str, form: TextForm) -> dict[str, Any]:
    line = {"line": number, "text": text.removesuffix("\r")}
    return {**line, **_entry(text)} if form is TextForm.LOG else line


def _entry(text: str) -> Mapping[str, Any]:
    head = text[:TIME_WITHIN]
    time, level = _TIME.search(head), _LEVEL.search(head)
    return {"time": moment(time[0].replace(",", ".")) if time else None, "level": level[1] if level else None}
