"""grep and findReferences: excerpts of long lines, and matches in lines that end with CRLF."""

from pathlib import Path
from typing import Any

import pytest

from context_protection.core.errors import InvalidArgument
from context_protection.core.patterns import MAX_PATTERN_CHARS
from gateway.connectors.codebase.index.index_place import SqlitePlace
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query.formats import LONGEST_LABEL, SHORTEST_EXCERPT
from gateway.connectors.codebase.query.lines import LONGEST_LINE, SEEN
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.query.conftest import Ask

WORDS = "many words " * 500


def place(tmp_path: Path, **files: str) -> ProjectPlace:
    return ProjectPlace(repositories.new(tmp_path / "work", **files), SqlitePlace(tmp_path / "none"), is_indexed=False)


@pytest.mark.parametrize(
    "query", [{"operation": "grep", "pattern": "needle"}, {"operation": "findReferences", "name": "needle"}]
)
@pytest.mark.parametrize("before", [0, SEEN, SEEN + 1, LONGEST_LINE, 5_000])
@pytest.mark.parametrize("after", [0, 5_000])
def test_a_match_in_a_long_line_is_shown(ask: Ask, tmp_path: Path, query: dict[str, Any], before: int, after: int):
    line = f"{WORDS[: max(0, before - 1)].ljust(before)}needle {WORDS[:after]}"
    at = place(tmp_path, **{"a.md": f"first\n{line}\nlast\n"})
    (row,) = ask(query, at=at)["results"]["matches"]
    assert (row["startLine"], row["endLine"]) == (2, 2)
    assert row["excerpt"].strip("…") in line
    if len(line) > LONGEST_LINE:
        assert "needle" in row["excerpt"][:SHORTEST_EXCERPT]
        assert "needle" in ask(query, at=at, responseFormat="Concise")["results"]["text"][: LONGEST_LABEL + 20]
    else:
        assert row["excerpt"] == line


def test_a_match_of_two_lines_is_shown_from_where_it_begins(ask: Ask, tmp_path: Path):
    at = place(tmp_path, **{"a.md": f"{WORDS}needle\nin hay {WORDS}\n"})
    (row,) = ask({"operation": "grep", "pattern": r"needle\nin", "isRegex": True}, at=at)["results"]["matches"]
    assert (row["startLine"], row["endLine"]) == (1, 2)
    assert row["excerpt"].startswith("…")
    assert "needle\nin hay" in row["excerpt"]


def test_a_secret_is_not_shown_without_what_marks_it_as_one(ask: Ask, tmp_path: Path):
    value = "correct-horse-9"
    line = f'{WORDS}"password_of_a_service_with_a_long_name": "{value}", needle'
    at = place(tmp_path, **{"a.json": f"{line}\n"})
    for pattern in ("needle", value, "horse-9"):
        (row,) = ask({"operation": "grep", "pattern": pattern}, at=at)["results"]["matches"]
        assert "horse" not in row["excerpt"]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [(r"end$", [1, 3]), (r"^$", [2]), (r"^\w+ end$", [1, 3]), (r"\r$", [1, 2]), ("end\r", [1]), (r"end\n\n", [1])],
)
def test_an_expression_matches_lines_that_end_as_on_windows(ask: Ask, tmp_path: Path, pattern: str, lines: list[int]):
    at = place(tmp_path, **{"a.txt": "first end\r\n\r\nlast end"})
    found = ask({"operation": "grep", "pattern": pattern, "isRegex": True}, at=at)["results"]["matches"]
    assert [row["startLine"] for row in found] == lines


@pytest.mark.parametrize(
    ("pattern", "found"),
    [("^", [("a.txt", 1), ("a.txt", 2), ("a.txt", 3), ("b.txt", 1)]), ("^$", [("a.txt", 2)]), (r"\Z", [("b.txt", 1)])],
)
def test_no_line_is_found_behind_the_last_one(ask: Ask, tmp_path: Path, pattern: str, found: list[tuple[str, int]]):
    at = place(tmp_path, **{"a.txt": "first\n\nthird\n", "b.txt": "only", "c.txt": ""})
    rows = ask({"operation": "grep", "pattern": pattern, "isRegex": True}, at=at)["results"]["matches"]
    assert [(row["path"], row["startLine"]) for row in rows] == found


@pytest.mark.parametrize("ignores_case", [False, True])
@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(((", "missing ) at character 4."), ("x" * 501, "regex has 501 characters.")],
    ids=["open", "long"],
)
def test_the_error_for_an_expression_counts_its_own_characters(
    ask: Ask, pattern: str, message: str, ignores_case: bool
):
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "grep", "pattern": pattern, "isRegex": True, "ignoreCase": ignores_case})
    assert refused.value.message.endswith(message)


def test_an_expression_of_the_greatest_length_is_searched_for(ask: Ask, tmp_path: Path):
    at = place(tmp_path, **{"a.md": f"first\n{'x' * MAX_PATTERN_CHARS}\n"})
    query = {"operation": "grep", "pattern": f"^{'X' * (MAX_PATTERN_CHARS - 2)}", "isRegex": True, "ignoreCase": True}
    assert [row["startLine"] for row in ask(query, at=at)["results"]["matches"]] == [2]
