"""Files whose names JSON cannot hold are searched, named in suggestions, and continued after, like all others."""

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.index.index_place import SqlitePlace
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query.file_names import named, written
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.conftest import NewPlace
from tests.gateway.connectors.codebase.indexes import put, text_files
from tests.gateway.connectors.codebase.query.conftest import Ask, indexed
from tests.gateway.connectors.codebase.query.test_continuation import followed

LATIN = (b"caf\xe8.py", b"caf\xe9.py", b"na\xefve/part.py", b"\xe3.py", b"\xff.py")
PLAIN = (
    b"a.py",
    b"cag.py",
    b'"q\\351.py"',
    "é.py".encode(),
    "草.py".encode(),
    "\U0001f600.py".encode(),
    "\uff21.py".encode(),
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = repositories.new(tmp_path / "work", **{"z.py": "def part():\n    pass\n"})
    for name in (*LATIN, *PLAIN):
        path = os.path.join(os.fsencode(root), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(os.fsdecode(path)).write_text("def part():\n    return 1\n")
    repositories.commit(root, "names")
    return root


@pytest.fixture(params=["indexed", "without an index", "bare"])
def at(request: pytest.FixtureRequest, work: Path, tmp_path: Path) -> ProjectPlace:
    if request.param == "bare":
        repositories.git(tmp_path, "clone", "-q", "--bare", str(work), str(tmp_path / "bare"))
        return ProjectPlace(tmp_path / "bare", SqlitePlace(tmp_path / "none"), is_indexed=False)
    if request.param == "indexed":
        return indexed(work, tmp_path / "index.sqlite3")
    return ProjectPlace(work, SqlitePlace(tmp_path / "none"), is_indexed=False)


def test_a_stored_index_continues_after_any_name(ask: Ask, work: Path, new_place: NewPlace):
    index = new_place()
    with index.writing() as store:
        assert store is not None
        put(store, {each.path: each.content for each in text_files(work)})
    at = ProjectPlace(work, index, is_indexed=True)
    for query in ({"operation": "listFiles"}, {"operation": "grep", "pattern": "return"}):
        whole = followed(ask, query, at)
        assert len(whole) >= len(LATIN) + len(PLAIN)
        assert followed(ask, {**query, "limit": 1}, at) == whole


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(
    "query",
    [
        {"operation": "listFiles"},
        {"operation": "grep", "pattern": "return"},
        {"operation": "findReferences", "name": "part"},
    ],
)
def test_an_answer_continues_after_any_name(ask: Ask, at: ProjectPlace, query: dict[str, Any], limit: int):
    whole = followed(ask, query, at)
    assert len(whole) >= len(LATIN) + len(PLAIN)
    assert followed(ask, {**query, "limit": limit}, at) == whole


def test_the_suggestions_for_any_name_work(ask: Ask, at: ProjectPlace):
    for name in (*LATIN, *PLAIN):
        after = written(os.fsdecode(name)[:-3])  # comes right before the name
        answer = ask({"operation": "grep", "pattern": "return", "after": after, "limit": 1}, at=at)
        (row,) = answer["results"]["matches"]
        assert row["path"] == name.decode(errors="replace")
        assert answer["metadata"]["incomplete"] == []
        operations = {orjson.loads(each)["operation"]: ask(each, at=at)["results"] for each in answer["suggestions"]}
        assert [each["name"] for each in operations["outline"]["symbols"]] == ["part"] * name.endswith(b".py")


def test_a_name_is_understood_as_it_is_shown_if_only_one_file_is_shown_like_that(ask: Ask, at: ProjectPlace):
    (symbol,) = ask({"operation": "outline", "path": "na\ufffdve/part.py"}, at=at)["results"]["symbols"]
    assert (symbol["path"], symbol["name"]) == ("na\ufffdve/part.py", "part")
    (commit,) = ask({"operation": "history", "path": "na\ufffdve/part.py"}, at=at)["results"]["commits"]
    assert commit["subject"] == "names"
    with pytest.raises(InvalidArgument) as refused:
        ask({"operation": "outline", "path": "caf\ufffd.py"}, at=at)
    assert refused.value.body
    suggested = refused.value.suggestion.removeprefix("Set query.path to ").removesuffix(".")
    assert ask({"operation": "outline", "path": suggested}, at=at)["results"]["symbols"]


def test_a_commit_is_named_for_a_file_of_any_name(ask: Ask, at: ProjectPlace):
    for name in LATIN:
        (commit,) = ask({"operation": "history", "path": written(os.fsdecode(name))}, at=at)["results"]["commits"]
        assert commit["subject"] == "names"


@pytest.mark.parametrize("name", [*LATIN, *PLAIN, b'a"b\\\xff\x01', b'"a b"', b"\xff"])
def test_a_written_name_is_read_as_the_same(name: bytes):
    path = os.fsdecode(name)
    assert named(written(path)) == path
    assert orjson.loads(orjson.dumps(written(path))) == written(path)
