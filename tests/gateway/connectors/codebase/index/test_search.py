"""An index is built, brought up to date and searched."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from gateway.connectors.codebase.index.build import MOST_PATHS, SUBJECTS, PastOfFiles, replace_files
from gateway.connectors.codebase.index.document import document_of
from gateway.connectors.codebase.index.index_place import SqlitePlace
from gateway.connectors.codebase.index.search import MOST_TERMS, Match, search
from gateway.connectors.codebase.index.store import PROPOSED, IndexStore
from tests.gateway.connectors.codebase.conftest import NewPlace
from tests.gateway.connectors.codebase.indexes import put, put_past

FILES = {
    "src/parser.py": (
        "import re\n\n\n"
        "def parse_header(line):\n    name, value = line.split(':')\n    return name\n\n\n"
        "def other():\n    pass\n"
    ),
    "src/server.py": "class Server:\n    def listen(self, port):\n        self.port = port\n",
    "tests/test_parser.py": "def test_parse_header():\n    assert parse_header('a: b') == 'a'\n",
    "docs/parser.md": "# Parser\n\nparse_header reads one header.\n",
    "src/empty.py": "",
}


def found(store: IndexStore, question: str, files: dict[str, str] = FILES, most: int = 10) -> list[Match]:
    return search(store, question, lambda path: files[path].encode() if path in files else None, most=most)


def paths(matches: Iterable[Match]) -> list[str]:
    return [match.path for match in matches]


@pytest.fixture(autouse=True)
def indexed(store: IndexStore) -> None:
    put(store, FILES)


def test_the_source_comes_before_its_test_and_its_docs(store: IndexStore):
    matches = found(store, "Header parsing is wrong")
    assert paths(matches) == ["src/parser.py", "tests/test_parser.py", "docs/parser.md"]
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    assert matches[0].score == 1.0


def test_a_question_about_tests_finds_them_first(store: IndexStore):
    assert paths(found(store, "tests of parse_header"))[0] == "tests/test_parser.py"


def test_the_projects_own_files_come_before_vendored_ones(store: IndexStore):
    files = {
        "vendor/acme.org/fs/notify.go": "package fs\n\nfunc Watch() {}\n\nfunc watchAll() {\n\tWatch()\n}\n",
        "internal/reload.go": "package internal\n\nfunc watch() {}\n",
    }
    put(store, files)
    assert paths(found(store, "Where is watch called?", files)) == [*reversed(files)]
    assert paths(found(store, "Where is vendored watch?", files))[0] == "vendor/acme.org/fs/notify.go"


def test_a_match_is_the_definition_around_its_best_line(store: IndexStore):
    best = found(store, "split the header line")[0]
    assert (best.start_line, best.end_line) == (4, 6)
    assert best.excerpt == "def parse_header(line):\n    name, value = line.split(':')\n    return name"


def test_every_match_lies_inside_its_file(store: IndexStore):
    shorter = {**FILES, "src/parser.py": "header\n", "tests/test_parser.py": ""}
    matches = found(store, "parse_header", shorter)
    assert paths(matches) == ["src/parser.py", "docs/parser.md"]
    assert (matches[0].start_line, matches[0].end_line, matches[0].excerpt) == (1, 1, "header")


def test_lines_that_are_gone_are_not_shown(store: IndexStore):
    long = {"src/long.py": "pass\n" * 150 + "def widget():\n    return 1\n"}
    put(store, long)
    (before,) = found(store, "widget", long)
    assert (before.start_line, before.end_line) == (151, 152)
    shorter = {"src/long.py": "a = 1\n" * 20 + "widget = 2\n"}  # the index knows of three passages, and a definition
    (match,) = found(store, "widget", shorter)
    assert match.end_line == 21
    assert match.excerpt.endswith("widget = 2")


def test_a_definition_that_ends_behind_the_file_is_not_shown_whole(store: IndexStore):
    cut = {"src/parser.py": FILES["src/parser.py"].partition("    return name")[0].rstrip("\n")}
    best = found(store, "split the header line", {**FILES, **cut})[0]
    assert (best.start_line, best.end_line) == (1, 5)
    assert best.excerpt == cut["src/parser.py"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("src/widget.py", "tests/widget.py"),
        ("tests/widget.py", "data/widget.json"),
        ("data/widget.json", "docs/widget.md"),
        ("src/widget.py", ".github/workflows/widget.yml"),
    ],
)
def test_what_a_file_is_for_decides_among_equal_ones(store: IndexStore, first: str, second: str):
    files = {first: "widget\n", second: "widget\n"}
    put(store, files)
    assert paths(found(store, "widget", files)) == [first, second]


def test_nothing_matches_nothing(store: IndexStore):
    assert found(store, "zebra") == found(store, "") == found(store, '" OR *') == []


def test_a_changed_file_is_found_at_once_by_what_it_says_now(store: IndexStore):
    changed = {"src/server.py": "def shutdown_gracefully():\n    pass\n"}
    put(store, changed, removed=["docs/parser.md", "never/there.py"])
    files = {**FILES, **changed}
    assert paths(found(store, "graceful shutdown", files)) == ["src/server.py"]
    assert found(store, "listen port", files) == []
    assert "docs/parser.md" not in store.paths()
    assert [symbol.name for symbol in store.symbols_of("src/server.py")] == ["shutdown_gracefully"]


def test_an_index_brought_up_to_date_is_the_same_as_a_new_one(store: IndexStore, new_place: NewPlace):
    for text in ("alpha beta\n", "beta gamma\n", FILES["src/server.py"]):
        put(store, {"src/server.py": text, "src/brief.py": text})
    put(store, {}, removed=["src/brief.py"])
    with new_place().writing() as new:
        assert new is not None
        put(new, FILES)
        assert new.totals() == store.totals()
        terms = ("beta", "listen", "header")
        assert new.file_counts(terms) == store.file_counts(terms) == {"listen": 1, "header": 3}
        for question in ("listen on a port", "header", "beta"):
            assert found(new, question) == found(store, question)


def test_subjects_of_commits_find_the_files_they_touched(store: IndexStore):
    assert found(store, "socket leak") == []
    put_past(
        store, [("Close the socket that leaks", ["src/server.py", "gone.py"]), ("Header names", ["src/parser.py"])]
    )
    assert paths(found(store, "socket leak")) == ["src/server.py"]
    put_past(store, [("Header names", ["src/parser.py"])])
    assert found(store, "socket leak") == []


def test_the_newest_subjects_of_a_file_are_kept(store: IndexStore):
    newer = [("Port numbers", ["src/server.py"])] * SUBJECTS
    oldest = [("Socket leak", ["src/server.py"])]
    put_past(store, newer[1:] + oldest)
    assert paths(found(store, "socket leak")) == ["src/server.py"]
    put_past(store, newer + oldest)
    assert found(store, "socket leak") == []


def test_a_past_is_that_of_the_files_of_the_project_alone():
    past = PastOfFiles(["src/server.py", "src/parser.py"])
    past.add("Close the socket", ["src/server.py", "gone.py"])
    past.add("Name headers", ["src/server.py", "src/parser.py"])
    assert [*past] == [
        ("src/server.py", ["Close the socket", "Name headers"], 0),
        ("src/parser.py", ["Name headers"], 1),
    ]


def test_a_commit_of_many_files_says_nothing_of_them(store: IndexStore):
    others = [f"src/part_{number}.py" for number in range(MOST_PATHS)]
    put_past(store, [("Socket leak", ["src/server.py", *others])])
    assert found(store, "socket leak") == []
    put_past(store, [("Socket leak", ["src/server.py", *others[1:]])])
    assert paths(found(store, "socket leak")) == ["src/server.py"]


def test_a_file_keeps_its_past_when_it_changes_and_loses_it_when_it_goes(store: IndexStore):
    put_past(store, [("Close the socket that leaks", ["src/server.py"])])
    put(store, {"src/server.py": "pass\n"})
    assert paths(found(store, "socket leak")) == ["src/server.py"]
    put(store, {}, removed=["src/server.py"])
    assert store.file_counts(["socket"]) == {}
    put(store, {"src/server.py": "pass\n"})
    assert found(store, "socket leak") == []


def test_ten_different_files_are_found_where_as_many_match(store: IndexStore):
    many = {f"src/part_{number}.py": "def widget(): pass\n" * 200 for number in range(30)}
    put(store, many)
    assert len(set(paths(found(store, "widget", many)))) == 10


def test_the_best_of_more_files_than_are_proposed_comes_first(store: IndexStore):
    many = {f"src/part_{number:03}.py": "widget = gadget\n" for number in range(PROPOSED + 100)}
    best = {"src/zz/last.py": "def widget():\n    return widget\n", "src/zz/gadget.py": "# a widget\n"}
    put(store, {**many, **best})
    assert paths(found(store, "widget", {**many, **best}))[:2] == ["src/zz/last.py", "src/part_000.py"]
    assert paths(found(store, "gadget", {**many, **best}))[0] == "src/zz/gadget.py"


def test_of_a_very_long_question_the_first_terms_are_searched_for(store: IndexStore):
    words = " ".join(f"zebra{number}" for number in range(MOST_TERMS))
    assert paths(found(store, f"listen {words}")) == ["src/server.py"]
    assert found(store, f"{words} listen") == []


def test_names_that_are_not_utf_8_are_kept(store: IndexStore):
    files = {"src/caf\udce9 'x'.py": "espresso = 1\n"}
    put(store, files)
    assert paths(found(store, "espresso", files)) == list(files)


def test_a_symbol_is_found_by_its_name_in_any_case(store: IndexStore):
    (hit,) = store.find_symbols("server", most=5)
    assert (hit.path, hit.symbol.name, hit.symbol.start_line, hit.symbol.end_line) == ("src/server.py", "Server", 1, 3)


def test_a_failed_batch_leaves_the_index_as_it_was(store: IndexStore):
    late = document_of("src/late.py", b"zebra\n")
    with pytest.raises((sqlite3.IntegrityError, psycopg.errors.UniqueViolation)):
        replace_files(store, [late, replace(late, path="src/server.py"), late], ["docs/parser.md"])
    assert found(store, "zebra", {**FILES, "src/late.py": "zebra\n"}) == []
    assert paths(found(store, "listen")) == ["src/server.py"]


def test_an_index_of_another_version_is_made_anew(tmp_path: Path):
    place = SqlitePlace(tmp_path / "project.sqlite3")
    with place.writing() as store:
        assert store is not None
        put(store, FILES)
    with sqlite3.connect(place.file) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    with place.writing() as store:
        assert store is not None
        assert store.paths() == []
        put(store, FILES)
        assert paths(found(store, "listen")) == ["src/server.py"]
