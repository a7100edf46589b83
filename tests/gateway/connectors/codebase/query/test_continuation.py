"""Answers with more rows than the limit or the budget allows: their first suggestion continues."""

from pathlib import Path
from typing import Any

import pytest

from gateway.connectors.codebase.index.index_place import SqlitePlace
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query import past
from gateway.connectors.codebase.schemas.structured_queries import OPERATIONS
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.query.conftest import Ask, budget_for, indexed

ROWS = {
    "findSymbol": {"name": "Part"},
    "findReferences": {"name": "Part"},
    "listFiles": {},
    "grep": {"pattern": "a"},
    "outline": {"path": "parts.py"},
    "history": {"path": "parts.py"},
    "changedSince": {"commit": "HEAD~4"},
}


def test_every_operation_is_continued_here():
    assert set(ROWS) == set(OPERATIONS)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> ProjectPlace:
    """Several rows for every structured query, and a file that has more than the others together."""
    folder = tmp_path_factory.mktemp("parts")
    root = repositories.new(folder / "work", **{"parts.py": "start = 1\n"})
    for number in range(1, 6):
        repositories.write(root, **{"parts.py": "class Part:\n    a = 1\n\n\n" * number, f"a{number}.txt": "Part\n"})
        repositories.commit(root, f"Part {number}")
    return indexed(root, folder / "index.sqlite3")


def followed(ask: Ask, query: Any, at: ProjectPlace) -> list[Any]:
    """The rows of the answer, and of those to its first suggestions until there is no more."""
    rows: list[Any] = []
    for _ in range(100):
        answer = ask(query, at=at)
        rows += next(value for value in answer["results"].values() if isinstance(value, list))
        if not answer["results"].get("hasMore"):
            return rows
        query = answer["suggestions"][0]
    raise AssertionError(f"{query} has no end")


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
@pytest.mark.parametrize("operation", ROWS)
def test_the_first_suggestion_continues_until_there_is_no_more(
    ask: Ask, parts: ProjectPlace, operation: str, limit: int
):
    query = {"operation": operation, **ROWS[operation]}
    whole = followed(ask, query, parts)
    assert len(whole) >= 5
    assert followed(ask, {**query, "limit": limit}, parts) == whole


def test_a_file_with_more_matches_than_the_highest_limit_is_shown_whole(ask: Ask, tmp_path: Path):
    root = repositories.new(tmp_path / "work", **{"a.txt": "TODO\n" * 2_100, "b.txt": "TODO\n"})
    place = ProjectPlace(root, SqlitePlace(tmp_path / "none"), is_indexed=False)
    found = followed(ask, {"operation": "grep", "pattern": "TODO", "limit": 1_000}, place)
    assert [(row["path"], row["startLine"]) for row in found] == [
        *(("a.txt", number + 1) for number in range(2_100)),
        ("b.txt", 1),
    ]


@pytest.mark.parametrize("operation", ["findSymbol", "grep", "history"])
def test_a_used_up_budget_is_continued_to_the_same_rows(ask: Ask, parts: ProjectPlace, operation: str):
    query: Any = {"operation": operation, **ROWS[operation]}
    whole, rows = followed(ask, query, parts), []
    for _ in range(20):
        answer = ask(query, at=parts, budget=budget_for(3))
        rows += next(value for value in answer["results"].values() if isinstance(value, list))
        query = answer["suggestions"][0] if answer["metadata"]["incomplete"] else None
        if query is None:
            break
    assert rows == whole


def test_a_history_longer_than_what_is_read_at_once_is_continued(
    ask: Ask, parts: ProjectPlace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(past, "MAX_COMMITS", 4)
    first = ask({"operation": "history"}, at=parts)
    assert first["metadata"]["incomplete"][0].startswith("Commits older than ")
    second = ask(first["suggestions"][0], at=parts)
    shown = [row["subject"] for answer in (first, second) for row in answer["results"]["commits"]]
    assert shown == ["Part 5", "Part 4", "Part 3", "Part 2", "Part 1", "first"]
