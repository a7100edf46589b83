"""The formats of an answer."""

from typing import Any

import pytest

from gateway.connectors.codebase.query.formats import ALL_EXCERPTS, results
from gateway.connectors.codebase.query.query_result import COMMITS, FILES, MATCHES, SYMBOLS, QueryResult, match

ROWS = [
    match("src/a.py", 3, 4, "def one():\n    return 1", score=1.0, name="one", kind="function"),
    match("docs/b.md", 9, 11, "\n```py\nx\n", score=0.5),
]


def text(found: QueryResult, response_format: str) -> str:
    return str(results(found, response_format)["text"])


def test_json_has_the_rows_as_they_are():
    assert results(QueryResult(MATCHES, ROWS, 2), "JSON") == {"matches": ROWS}
    assert results(QueryResult(FILES, [{"path": "a"}], 1, has_more=True), "JSON") == {
        "files": [{"path": "a"}],
        "hasMore": True,
    }


def test_concise_has_a_line_for_each():
    assert text(QueryResult(MATCHES, ROWS, 2), "Concise") == "src/a.py:3-4  function one\ndocs/b.md:9-11  ```py"


@pytest.mark.parametrize(("best", "expected"), [(10, "```py"), (11, "x = 1"), (9, "```py"), (40, "```py")])
def test_concise_shows_the_line_that_a_file_was_found_for(best: int, expected: str):
    row = match("docs/b.md", 9, 12, "\n```py\nx = 1\n", score=0.5)
    assert text(QueryResult(MATCHES, [row], 1, best_lines=[best]), "Concise") == f"docs/b.md:9-12  {expected}"
    assert results(QueryResult(MATCHES, [row], 1, best_lines=[best]), "JSON") == {"matches": [row]}


def test_detailed_numbers_the_lines():
    assert text(QueryResult(MATCHES, ROWS[:1], 1), "Detailed") == (
        "src/a.py:3-4  function one\n    3  def one():\n    4      return 1"
    )


def test_markdown_fences_what_has_fences():
    shown = text(QueryResult(MATCHES, ROWS, 2), "Markdown")
    assert "**src/a.py:3-4** function `one`\n\n```py\ndef one():\n    return 1\n```" in shown
    assert "**docs/b.md:9-11**\n\n````md\n\n```py\nx\n\n````" in shown


@pytest.mark.parametrize("response_format", ["Concise", "Detailed", "Markdown"])
def test_texts_cite_in_the_order_of_the_rows(response_format: str):
    shown = text(QueryResult(MATCHES, ROWS, 2), response_format)
    assert 0 <= shown.index("src/a.py:3-4") < shown.index("docs/b.md:9-11")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (QueryResult(FILES, [{"path": "a"}, {"path": "b"}], 2), "a\nb"),
        (
            QueryResult(SYMBOLS, [{"path": "a", "startLine": 1, "endLine": 2, "name": "A", "kind": "class"}], 1),
            "a:1-2  class A",
        ),
        (
            QueryResult(
                COMMITS, [{"commit": "abc", "time": "2026-01-02T03:04:05Z", "subject": "s", "changedFiles": 1}], 1
            ),
            "abc  2026-01-02 s",
        ),
        (QueryResult(MATCHES, [], 0), "Nothing was found."),
        (QueryResult(FILES, [{"path": "a"}], 1, has_more=True), "a\nThere is more: see suggestions."),
        (QueryResult(FILES, [{"path": "a\udcff"}], 1), "a\ufffd"),
    ],
)
def test_other_rows_in_one_line(found: QueryResult, expected: str):
    assert text(found, "Concise") == expected


def test_long_excerpts_lose_whole_lines_and_their_range_follows():
    rows = [match(f"{number}.py", 1, 2_000, "\n".join(["x" * 9] * 2_000)) for number in range(4)]
    shown: list[dict[str, Any]] = results(QueryResult(MATCHES, rows, 4), "JSON")["matches"]
    assert sum(len(row["excerpt"]) for row in shown) <= ALL_EXCERPTS
    for row in shown:
        lines = row["excerpt"].split("\n")
        assert set(lines) == {"x" * 9}
        assert row["endLine"] == len(lines) > 100


def test_one_long_line_is_cut():
    (shown,) = results(QueryResult(MATCHES, [match("a.js", 5, 5, "x" * 100_000)], 1), "JSON")["matches"]
    assert (shown["startLine"], shown["endLine"], len(shown["excerpt"])) == (5, 5, ALL_EXCERPTS)
