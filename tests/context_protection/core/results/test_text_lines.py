"""The lines of a text as rows: in a log, only the lines that begin an entry have its time and level."""

from typing import Any

import pytest

from context_protection.core.payloads import Piece
from context_protection.core.results import text_lines
from context_protection.core.splitting.forms import TextForm

LOG = """2026-11-01T10:00:00Z ERROR worker failed
Traceback (most recent call last):
  File "sync.py", line 3, in push
    raise Late("2026-10-31 23:59:59 ERROR")
sync.Late: 2026-10-31 23:59:59 ERROR
tried at 2026-10-31 23:59:59, level WARN
2026-11-01 10:00:01,250 INFO done
"""


def entries(text: str) -> list[tuple[Any, Any]]:
    return [(row["time"], row["level"]) for row in rows(text)]


def rows(text: str, form: TextForm = TextForm.LOG, pieces: int = 1) -> list[dict[str, Any]]:
    size = len(text) // pieces + 1
    parts = [Piece(1, start, text[start : start + size]) for start in range(0, max(len(text), 1), size)]
    return list(text_lines.rows(parts, form))


def test_only_lines_that_begin_an_entry_have_a_time_and_a_level():
    assert entries(LOG) == [
        ("2026-11-01 10:00:00", "ERROR"),
        *[(None, None)] * 5,
        ("2026-11-01 10:00:01.250000", "INFO"),
    ]


def test_in_a_log_without_known_marks_every_line_at_the_margin_begins_an_entry():
    text = "(api) 2026-11-01 10:00:00 ERROR failed\n  at 2026-10-31 23:59:59 ERROR\n(api) 2026-11-01 10:00:01 INFO done"
    assert entries(text) == [("2026-11-01 10:00:00", "ERROR"), (None, None), ("2026-11-01 10:00:01", "INFO")]


@pytest.mark.parametrize("first", ["2026-11-01 boot", "INFO starting", '{"level": "INFO"}'])
def test_one_line_with_a_mark_takes_nothing_from_lines_that_begin_differently(first: str):
    lines = [f"[main] 2026-11-01 10:00:{n % 60:02} ERROR failed" for n in range(30)]
    assert entries("\n".join([first, *lines]))[1:] == [(f"2026-11-01 10:00:{n:02}", "ERROR") for n in range(30)]
    untimed = entries("\n".join([first, *["main: ERROR failed"] * 30]))
    assert untimed[1:] == [(None, "ERROR")] * 30


def test_a_time_and_a_level_deep_within_a_line_are_those_of_its_message():
    start = f"INFO {'x' * text_lines.TIME_WITHIN}"
    assert entries(f"{start} 2026-10-31 23:59:59") == [(None, "INFO")]
    assert entries(f"10:00:00 {'x' * text_lines.TIME_WITHIN} ERROR") == [(None, None)]


@pytest.mark.parametrize("form", [TextForm.LOG, TextForm.PROSE])
@pytest.mark.parametrize("pieces", [1, 2, 7])
def test_lines_are_counted_across_pieces_and_lose_their_ends(form: TextForm, pieces: int):
    found = rows("one\r\n\ntwo\n", form, pieces)
    assert [(row["line"], row["text"]) for row in found] == [(1, "one"), (2, ""), (3, "two")]


def test_an_empty_text_has_one_empty_line():
    assert rows("", TextForm.PROSE) == [{"line": 1, "text": ""}]
    assert rows("") == [{"line": 1, "text": "", "time": None, "level": None}]


@pytest.mark.parametrize("form", [TextForm.LOG, TextForm.PROSE])
def test_the_columns_are_those_of_the_rows(form: TextForm):
    (row,) = rows("INFO x", form)
    assert [each.name for each in text_lines.columns(form)] == list(row)
