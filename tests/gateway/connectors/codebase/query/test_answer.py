"""Answers to queries about a small project."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pygit2
import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.index_place import PostgresPlace, SqlitePlace
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query import answer, symbols
from gateway.connectors.codebase.schemas.requests import RESPONSE_FORMATS
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.conftest import IN_POSTGRES, NewPlace
from tests.gateway.connectors.codebase.indexes import put
from tests.gateway.connectors.codebase.query.conftest import FILES, Ask, budget_for, indexed


def places(answer: dict[str, Any]) -> list[tuple[str, int, int]]:
    return [(row["path"], row["startLine"], row["endLine"]) for row in answer["results"]["matches"]]


def paths(answer: dict[str, Any]) -> list[str]:
    return [row["path"] for row in next(rows for rows in answer["results"].values() if isinstance(rows, list))]


# -- Questions in words -----------------------------------------------------------------------------


def test_a_question_finds_the_definition_first(ask: Ask):
    answer = ask("How is a header parsed?")
    assert places(answer)[0] == ("src/parser.py", 4, 6)
    assert answer["results"]["matches"][0]["excerpt"] == "\n".join(FILES["src/parser.py"].split("\n")[3:6])
    assert [step["name"] for step in answer["metadata"]["tools"]] == ["search", "symbols", "suggestions", "write"]
    assert answer["metadata"]["isPartialResult"] is False


def test_every_range_exists_and_holds_its_excerpt(ask: Ask):
    for path, start, end in places(answer := ask("parse the server's port")):
        assert 1 <= start <= end <= FILES[path].count("\n")
    for row in answer["results"]["matches"]:
        lines = FILES[row["path"]].split("\n")[row["startLine"] - 1 : row["endLine"]]
        assert row["excerpt"] == "\n".join(lines)


def test_a_named_definition_is_shown(ask: Ask):
    (server,) = [row for row in ask("Why does `listen` fail?")["results"]["matches"] if row["path"] == "src/server.py"]
    assert (server["name"], server["startLine"], server["endLine"]) == ("listen", 5, 6)


def test_the_context_helps(ask: Ask):
    assert paths(ask("Why does it fail?", context={"error": "in parse_body"}))[0] == "src/parser.py"


def test_the_scope_is_kept(ask: Ask):
    assert paths(ask("parse header", scope={"excludePatterns": ["src/"]})) == ["tests/test_parser.py"]
    assert paths(ask("parse header", scope={"directories": ["docs"]})) == []


@pytest.mark.parametrize("response_format", RESPONSE_FORMATS)
def test_the_formats_cite_the_same_lines(ask: Ask, response_format: str):
    answer = ask("parse a header", responseFormat=response_format)
    shown = orjson.dumps(answer["results"]).decode()
    expected = places(ask("parse a header"))
    if response_format != "JSON":
        at = [shown.index(f"{path}:{start}-{end}") for path, start, end in expected]
        assert at == sorted(at)


@pytest.mark.cluster
def test_a_database_that_refuses_is_as_no_index(ask: Ask, place: ProjectPlace):
    away = replace(place, index=PostgresPlace("host=127.0.0.1 port=1", "sluice_index_7"))
    assert paths(ask({"operation": "grep", "pattern": "parse_body"}, at=away)) == ["src/parser.py"]
    assert len(ask({"operation": "history"}, at=away)["results"]["commits"]) == 1
    assert ask("How is a header parsed?", at=away)["metadata"]["isPartialResult"]


@pytest.mark.parametrize("new_place", [IN_POSTGRES], indirect=True)
def test_an_index_that_is_deleted_during_a_question_is_as_no_index(
    ask: Ask, place: ProjectPlace, new_place: NewPlace, monkeypatch: pytest.MonkeyPatch
):
    index = new_place()
    assert isinstance(index, PostgresPlace)
    with index.writing() as store:
        assert store is not None
        put(store, FILES)

    def opened_late(root: Path) -> pygit2.Repository:
        index.delete()
        return opened(root)

    monkeypatch.setattr(answer, "opened", opened_late)
    found = ask({"operation": "findSymbol", "name": "listen"}, at=replace(place, index=index))
    assert found["metadata"]["isPartialResult"]


# -- Structured queries -----------------------------------------------------------------------------


def test_find_symbol(ask: Ask):
    answer = ask({"operation": "findSymbol", "name": "parse_header"})
    assert places(answer) == [("src/parser.py", 4, 6)]
    assert answer["results"]["matches"][0]["kind"] == "function"
    assert places(ask({"operation": "findSymbol", "name": "parse_header", "kind": "class"})) == []
    assert places(ask({"operation": "findSymbol", "name": "parse_header"}, scope={"directories": ["docs"]})) == []


def test_a_symbol_of_a_kind_is_found_behind_more_of_other_kinds_than_the_limit(ask: Ask, tmp_path: Path):
    functions = {f"{name}.py": "def Part():\n    pass\n" for name in "abc"}
    root = repositories.new(
        tmp_path / "parts", **functions, **{f"{name}.py": "class Part:\n    pass\n" for name in "de"}
    )
    place = indexed(root, tmp_path / "parts.sqlite3")
    answer = ask({"operation": "findSymbol", "name": "Part", "kind": "class", "limit": 1}, at=place)
    assert places(answer) == [("d.py", 1, 2)]
    assert answer["results"]["hasMore"]


def test_definitions_that_were_not_looked_at_are_reported(ask: Ask, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(symbols, "MOST_FILTERED", 1)
    answer = ask({"operation": "findSymbol", "name": "parse_header", "kind": "class"})
    assert answer["metadata"]["incomplete"] == ["Only the first 1 definitions of that name were looked at."]


def test_find_references(ask: Ask):
    found = places(ask({"operation": "findReferences", "name": "parse_header"}))
    assert found == [
        ("src/parser.py", 4, 4),
        ("src/server.py", 1, 1),
        ("src/server.py", 9, 9),
        ("tests/test_parser.py", 1, 1),
        ("tests/test_parser.py", 5, 5),
    ]
    assert places(ask({"operation": "findReferences", "name": "parse"})) == []


def test_references_without_an_index_are_the_same(ask: Ask, place: ProjectPlace, tmp_path: Path):
    query = {"operation": "findReferences", "name": "parse_header"}
    without = replace(place, index=SqlitePlace(tmp_path / "none"), is_indexed=False)
    assert ask(query, at=without)["results"] == ask(query)["results"]


def test_grep(ask: Ask):
    assert places(
        ask({"operation": "grep", "pattern": "SERVER", "ignoreCase": True}, scope={"directories": ["docs"]})
    ) == [("docs/guide.md", 3, 3)]
    assert places(ask({"operation": "grep", "pattern": "SERVER"})) == []
    assert places(ask({"operation": "grep", "pattern": r"^class \w+:$", "isRegex": True})) == [("src/server.py", 4, 4)]
    assert places(ask({"operation": "grep", "pattern": r"parse_\w+"})) == []


def test_a_match_of_several_lines_has_them_all(ask: Ask):
    (row,) = ask({"operation": "grep", "pattern": r"class Server:\n.*port\):", "isRegex": True})["results"]["matches"]
    assert (row["startLine"], row["endLine"]) == (4, 5)
    assert row["excerpt"] == "class Server:\n    def listen(self, port):"


def test_an_expression_that_is_not_valid_is_named(ask: Ask):
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "grep", "pattern": "(", "isRegex": True})
    assert refused.value.parameter == "query.pattern"


def test_an_expression_without_end_leaves_the_other_files(ask: Ask, root: Path):
    (root / "src" / "a.txt").write_text("a" * 5_000 + "b\n")
    answer = ask(
        {"operation": "grep", "pattern": "(a|aa)+$|Guide", "isRegex": True},
        at=ProjectPlace(root, SqlitePlace(root / "none"), is_indexed=False),
    )
    assert places(answer) == [("docs/guide.md", 1, 1)]
    assert answer["metadata"]["incomplete"] == ["The expression took too long in 1 files, such as src/a.txt."]


def test_an_expression_without_end_is_reported_in_an_answer_with_more(ask: Ask, root: Path):
    (root / "docs" / "a.txt").write_text("a" * 5_000 + "b\n")
    at = ProjectPlace(root, SqlitePlace(root / "none"), is_indexed=False)
    answer = ask({"operation": "grep", "pattern": "(a|aa)+$|parse", "isRegex": True, "limit": 1}, at=at)
    assert answer["results"]["hasMore"]
    assert answer["metadata"]["incomplete"] == ["The expression took too long in 1 files, such as docs/a.txt."]


def test_list_files_continues_where_it_ended(ask: Ask):
    first = ask({"operation": "listFiles", "limit": 3})
    assert (paths(first), first["results"]["hasMore"]) == (sorted(FILES)[:3], True)
    assert paths(ask(first["suggestions"][0])) == sorted(FILES)[3:]


def test_grep_continues_after_the_last_whole_file(ask: Ask):
    query: Any = {"operation": "grep", "pattern": "parse_header", "limit": 2}
    found: list[tuple[str, int, int]] = []
    for _ in range(3):
        answer = ask(query)
        found += places(answer)
        query = answer["suggestions"][0]
        if not answer["results"].get("hasMore"):
            break
    assert found == places(ask({"operation": "grep", "pattern": "parse_header"}))


def test_outline(ask: Ask):
    answer = ask({"operation": "outline", "path": "src/server.py"})
    assert [(row["name"], row["startLine"]) for row in answer["results"]["symbols"]] == [
        ("Server", 4),
        ("listen", 5),
        ("read", 8),
    ]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "src/nothing.py", "src", ".git/config"])
def test_outline_of_what_is_no_file_is_refused(ask: Ask, path: str):
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "outline", "path": path})
    assert (refused.value.parameter, refused.value.value) == ("query.path", path)


def test_outline_of_a_file_that_is_not_read_says_why(ask: Ask, root: Path):
    repositories.write(root, **{"src/large.py": "x = 1\n" * 200_000})
    (root / "src/linked.py").symlink_to("server.py")
    repositories.commit(root, "more")
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "outline", "path": "src/large.py"})
    assert refused.value.message == "The file 'src/large.py' has 1,200,000 bytes, more than 1,000,000."
    assert refused.value.suggestion == 'Ask {"operation": "listFiles"} for the paths.'
    with pytest.raises(InvalidArgument, match="it is a link"):
        ask({"operation": "outline", "path": "src/linked.py"})


def test_outline_of_an_ignored_file_is_refused_and_that_of_a_new_file_is_not(ask: Ask, root: Path):
    code = "class Built:\n    pass\n"
    repositories.write(root, **{".gitignore": "build/\n", "build/out.py": code, "src/fresh.py": code})
    with pytest.raises(InvalidArgument, match="is not a text file of the project"):
        ask({"operation": "outline", "path": "build/out.py"})
    assert [row["name"] for row in ask({"operation": "outline", "path": "src/fresh.py"})["results"]["symbols"]] == [
        "Built"
    ]


def test_lines_that_were_not_read_are_not_counted(ask: Ask, root: Path):
    repositories.write(root, **{"src/large.py": "x = 1\n" * 200_000, "src/small.py": "x = 1\n"})
    query = {"operation": "changedSince", "commit": "HEAD"}
    assert ask(query)["results"]["changedFiles"] == [
        {"path": "src/large.py", "changeType": "Added"},
        {"path": "src/small.py", "changeType": "Added", "addedLines": 1, "removedLines": 0},
    ]
    text = ask(query, responseFormat="Concise")["results"]["text"]
    assert text.split("\n") == ["src/large.py  Added, lines not counted", "src/small.py  Added, +1 −0"]


def test_outline_of_a_file_of_another_repository_is_refused(ask: Ask, root: Path):
    repositories.new(root / "nested", **{"inner.py": "class Inner:\n    pass\n"})
    with pytest.raises(InvalidArgument):
        ask({"operation": "outline", "path": "nested/inner.py"})


def test_history_and_changes(ask: Ask, root: Path):
    repositories.write(root, **{"src/server.py": "class Server:\n    pass\n"})
    repositories.commit(root, "Simplify the server")
    repositories.write(root, **{"src/parser.py": "x = 1\n"})
    history = ask({"operation": "history"})
    assert [row["subject"] for row in history["results"]["commits"]] == ["Simplify the server", "first"]
    assert len(ask({"operation": "history", "path": "src/parser.py"})["results"]["commits"]) == 1
    assert len(ask({"operation": "history", "path": "src"})["results"]["commits"]) == 2
    changed = ask({"operation": "changedSince", "commit": history["results"]["commits"][1]["commit"]})
    assert [(row["path"], row["changeType"]) for row in changed["results"]["changedFiles"]] == [
        ("src/parser.py", "Modified"),
        ("src/server.py", "Modified"),
    ]


def test_the_history_of_a_file_has_commits_of_any_size(ask: Ask, tmp_path: Path):
    root = repositories.new(tmp_path / "large", **{f"d/f{number}.txt": "x\n" for number in range(1_500)})
    place = ProjectPlace(root, SqlitePlace(tmp_path / "none"), is_indexed=False)
    (row,) = ask({"operation": "history", "path": "d/f999.txt"}, at=place)["results"]["commits"]
    assert (row["subject"], row["changedFiles"]) == ("first", 1_500)


def test_a_history_after_a_commit_that_is_none_is_named(ask: Ask):
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "history", "after": "0" * 40})
    assert refused.value.parameter == "query.after"


def test_a_commit_that_is_none_is_named(ask: Ask):
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "changedSince", "commit": "nothing"})
    assert refused.value.parameter == "query.commit"
    assert "query.commit is 'nothing'" in refused.value.message
    assert refused.value.message.endswith("or HEAD~3.")  # changedSince needs a commit


# -- Suggestions, budgets, failures -----------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "parse a header",
        "quantum chromodynamics",
        {"operation": "findSymbol", "name": "Server"},
        {"operation": "findSymbol", "name": "Nothing"},
        {"operation": "findReferences", "name": "Server"},
        {"operation": "listFiles", "limit": 1},
        {"operation": "grep", "pattern": "parse", "limit": 1},
        {"operation": "outline", "path": "src/parser.py"},
        {"operation": "outline", "path": "docs/guide.md"},
        {"operation": "history"},
        {"operation": "changedSince", "commit": "HEAD"},
    ],
)
def test_suggestions_run(ask: Ask, query: Any):
    answer = ask(query)
    assert answer["suggestions"]
    for each in answer["suggestions"]:
        assert ask(each)["results"] is not None


def test_a_used_up_budget_gives_what_there_is(ask: Ask):
    answer = ask({"operation": "grep", "pattern": "e"}, budget=budget_for(2))
    metadata = answer["metadata"]
    assert 0 < len({path for path, _, _ in places(answer)}) < len(FILES)
    step, budget = metadata["tools"][0], metadata["budget"]
    assert (metadata["isPartialResult"], metadata["budgetExceeded"], budget["exceeded"]) == (True, True, True)
    assert (step["isPartialResult"], step["budgetExceeded"]) == (True, True)
    assert metadata["incomplete"][0].startswith("Files after ")


def test_a_question_over_its_budget_is_partial(ask: Ask):
    answer = ask("parse a header", budget=budget_for(1))
    assert answer["metadata"]["isPartialResult"]
    assert answer["metadata"]["incomplete"]


def test_costs_add_up_and_stay_below_the_limit(ask: Ask):
    metadata = ask("parse a header", budget=Budget(limit=0.01, seconds=60, price=100.0))["metadata"]
    assert metadata["totalCost"] == pytest.approx(sum(step["cost"] for step in metadata["tools"]))
    assert metadata["totalCost"] <= 0.01
    assert metadata["budgetExceeded"] is True


def test_a_step_that_fails_leaves_the_others(ask: Ask, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object, **__: object) -> list[str]:
        raise RuntimeError("seeded")

    monkeypatch.setattr("gateway.connectors.codebase.query.answer.suggestions", broken)
    answer = ask("parse a header")
    assert paths(answer)[0] == "src/parser.py"
    assert answer["metadata"]["incomplete"] == ["The step suggestions failed; the other results are complete."]


def test_without_an_index_a_question_says_so(ask: Ask, place: ProjectPlace, tmp_path: Path):
    answer = ask("parse a header", at=replace(place, index=SqlitePlace(tmp_path / "none"), is_indexed=False))
    assert answer["results"] == {"matches": []}
    assert answer["metadata"]["isPartialResult"] is True
    assert answer["suggestions"][0] == "parse a header"


def test_secrets_stay_in_the_tree(ask: Ask, root: Path, place: ProjectPlace):
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    (root / "src" / "settings.py").write_text(f"AWS_KEY = '{key}'\n")
    answer = ask({"operation": "grep", "pattern": "AWS_KEY"}, at=replace(place, is_indexed=False))
    assert places(answer) == [("src/settings.py", 1, 1)]
    assert key not in orjson.dumps(answer).decode()
