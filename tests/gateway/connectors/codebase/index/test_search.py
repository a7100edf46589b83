"""An index is built, brought up to date and searched."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from gateway.connectors.codebase.index.build import BATCH, SourceFile, replace_all, replace_past, replace_some
from gateway.connectors.codebase.index.search import Match, search
from gateway.connectors.codebase.index.store import IndexStore

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


def source_files(files: dict[str, str]) -> list[SourceFile]:
    return [(path, len(text), text.encode(errors="surrogateescape")) for path, text in files.items()]


def found(store: IndexStore, question: str, files: dict[str, str] = FILES, most: int = 10) -> list[Match]:
    return search(store, question, lambda path: files[path].encode() if path in files else None, most=most)


def paths(matches: Iterable[Match]) -> list[str]:
    return [match.path for match in matches]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[IndexStore]:
    with IndexStore(tmp_path / "project.sqlite3") as store:
        for _ in replace_all(store, source_files(FILES)):
            pass
        yield store


def test_the_source_comes_before_its_test_and_its_docs(store: IndexStore):
    matches = found(store, "Header parsing is wrong")
    assert paths(matches) == ["src/parser.py", "tests/test_parser.py", "docs/parser.md"]
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    assert matches[0].score == 1.0


def test_a_question_about_tests_finds_them_first(store: IndexStore):
    assert paths(found(store, "tests of parse_header"))[0] == "tests/test_parser.py"


def test_a_match_is_the_definition_around_its_best_line(store: IndexStore):
    best = found(store, "split the header line")[0]
    assert (best.start_line, best.end_line) == (4, 6)
    assert best.excerpt == "def parse_header(line):\n    name, value = line.split(':')\n    return name"


def test_every_match_lies_inside_its_file(store: IndexStore):
    shorter = {**FILES, "src/parser.py": "header\n", "tests/test_parser.py": ""}
    matches = found(store, "parse_header", shorter)
    assert paths(matches) == ["src/parser.py", "docs/parser.md"]
    assert (matches[0].start_line, matches[0].end_line, matches[0].excerpt) == (1, 1, "header")


def test_nothing_matches_nothing(store: IndexStore):
    assert found(store, "zebra") == found(store, "") == found(store, '" OR *') == []


def test_a_changed_file_is_found_at_once_by_what_it_says_now(store: IndexStore):
    changed = {"src/server.py": "def shutdown_gracefully():\n    pass\n"}
    update = replace_some(store, source_files(changed), removed=["docs/parser.md", "never/there.py"])
    assert (update.written, update.removed) == (1, 1)
    files = {**FILES, **changed}
    assert paths(found(store, "graceful shutdown", files)) == ["src/server.py"]
    assert found(store, "listen port", files) == []
    assert "docs/parser.md" not in store.paths()
    assert [symbol.name for symbol in store.symbols_of("src/server.py")] == ["shutdown_gracefully"]


def test_an_update_writes_only_what_differs(store: IndexStore):
    files = {**FILES, "src/new.py": "x = 1\n"}
    del files["src/server.py"]
    (*_, update) = replace_all(store, source_files(files))
    assert (update.written, update.unchanged, update.removed) == (1, 4, 1)
    assert store.paths() == sorted(files)
    assert store.totals().files == len(files)


def test_an_index_brought_up_to_date_is_the_same_as_a_new_one(store: IndexStore, tmp_path: Path):
    for text in ("alpha beta\n", "beta gamma\n", FILES["src/server.py"]):
        replace_some(store, source_files({"src/server.py": text, "src/brief.py": text}))
    replace_some(store, [], removed=["src/brief.py"])
    with IndexStore(tmp_path / "new.sqlite3") as new:
        list(replace_all(new, source_files(FILES)))
        assert new.totals() == store.totals()
        terms = ("beta", "listen", "header")
        assert new.file_counts(terms) == store.file_counts(terms) == {"listen": 1, "header": 3}
        for question in ("listen on a port", "header", "beta"):
            assert found(new, question) == found(store, question)


def test_subjects_of_commits_find_the_files_they_touched(store: IndexStore):
    assert found(store, "socket leak") == []
    replace_past(
        store, [("Close the socket that leaks", ["src/server.py", "gone.py"]), ("Header names", ["src/parser.py"])]
    )
    assert paths(found(store, "socket leak")) == ["src/server.py"]
    replace_past(store, [("Header names", ["src/parser.py"])])
    assert found(store, "socket leak") == []


def test_a_file_keeps_its_past_when_it_changes_and_loses_it_when_it_goes(store: IndexStore):
    replace_past(store, [("Close the socket that leaks", ["src/server.py"])])
    replace_some(store, source_files({"src/server.py": "pass\n"}))
    assert paths(found(store, "socket leak")) == ["src/server.py"]
    replace_some(store, [], removed=["src/server.py"])
    assert store.file_counts(["socket"]) == {}
    replace_some(store, source_files({"src/server.py": "pass\n"}))
    assert found(store, "socket leak") == []


def test_ten_different_files_are_found_where_as_many_match(store: IndexStore):
    many = {f"src/part_{number}.py": "def widget(): pass\n" * 200 for number in range(30)}
    list(replace_all(store, source_files(many)))
    assert len(set(paths(found(store, "widget", many)))) == 10


def test_a_batch_is_searchable_when_it_is_reported(store: IndexStore):
    many = {f"src/part_{number}.py": "widget\n" for number in range(BATCH + 1)}
    updates = replace_all(store, source_files(many))
    assert next(updates).read == BATCH
    assert found(store, "widget", many)
    assert store.totals().files == BATCH + len(FILES)  # those of before go at the end


def test_names_that_are_not_utf_8_are_kept(store: IndexStore):
    files = {"src/caf\udce9 'x'.py": "espresso = 1\n"}
    replace_some(store, source_files(files))
    assert paths(found(store, "espresso", files)) == list(files)


def test_a_symbol_is_found_by_its_name_in_any_case(store: IndexStore):
    (hit,) = store.find_symbols("server", most=5)
    assert (hit.path, hit.symbol.name, hit.symbol.start_line, hit.symbol.end_line) == ("src/server.py", "Server", 1, 3)


def test_a_failed_batch_leaves_the_index_as_it_was(store: IndexStore):
    def failing() -> Iterator[SourceFile]:
        yield from source_files({"src/late.py": "zebra\n"})
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        replace_some(store, failing())
    assert found(store, "zebra", {**FILES, "src/late.py": "zebra\n"}) == []
    assert paths(found(store, "listen")) == ["src/server.py"]


def test_a_file_of_another_version_is_made_anew(tmp_path: Path):
    file = tmp_path / "project.sqlite3"
    with IndexStore(file) as store:
        list(replace_all(store, source_files(FILES)))
    with sqlite3.connect(file) as database:
        database.execute("PRAGMA user_version = 999")
    database.close()
    with IndexStore(file) as store:
        assert store.paths() == []
        list(replace_all(store, source_files(FILES)))
        assert paths(found(store, "listen")) == ["src/server.py"]
