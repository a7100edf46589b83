"""The index follows the tree: what is changed is found, what is gone is not, and nothing is read twice."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from gateway.connectors.codebase.index.index_place import IndexPlace, PostgresPlace, SqlitePlace
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.indexing import file_reads, indexer, run, stamps, tree_watch
from gateway.connectors.codebase.indexing.advance import Advance, AdvanceOutcome
from gateway.connectors.codebase.indexing.indexer import IndexedTree
from gateway.connectors.codebase.indexing.readers import readers
from tests.gateway.connectors.codebase.conftest import IN_POSTGRES
from tests.gateway.connectors.codebase.repositories import commit, git, new, write

LONG = 60.0


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return new(tmp_path.resolve() / "shop", **{"src/a.py": "def alpha():\n    pass\n", "src/b.py": "beta = 1\n"})


@pytest.fixture
def sqlite(tmp_path: Path) -> SqlitePlace:
    (tmp_path / "index.sqlite3").touch()
    return SqlitePlace(tmp_path / "index.sqlite3")


def emptied(place: IndexPlace) -> None:
    """As if it had been deleted and created again."""
    if isinstance(place, SqlitePlace):
        place.file.unlink()
        place.file.touch()
    elif isinstance(place, PostgresPlace):
        place.delete()
        place.create()


@pytest.fixture
def tree(shop: Path, place: IndexPlace) -> Iterator[IndexedTree]:
    tree = IndexedTree(shop, place)
    yield tree
    tree.stop()


@pytest.fixture
def believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of files that have just been written are believed, as if they were some seconds old."""
    monkeypatch.setattr(stamps, "SETTLED", 0)
    monkeypatch.setattr(tree_watch, "SETTLED", 0)


def existing(place: IndexPlace) -> IndexStore:
    store = place.existing()
    assert store is not None
    return store


def paths(place: IndexPlace) -> list[str]:
    with existing(place) as store:
        return store.paths()


def symbols(place: IndexPlace, path: str) -> list[str]:
    with existing(place) as store:
        return [symbol.name for symbol in store.symbols_of(path)]


def finished(tree: IndexedTree) -> Advance:
    found = tree.advance(LONG)
    assert found.outcome is AdvanceOutcome.DONE
    return found


def test_a_new_project_is_indexed_with_its_past(tree: IndexedTree, place: IndexPlace, shop: Path):
    found = finished(tree)
    assert (found.step.done, found.step.total, found.step.differing, found.step.share) == (2, 2, 2, 1.0)
    assert found.step.commit == git(shop, "rev-parse", "HEAD")
    assert paths(place) == ["src/a.py", "src/b.py"]
    with existing(place) as store:
        assert store.totals().past_files == 2


def test_a_changed_file_is_found_and_the_others_are_not_read(
    believed: None, tree: IndexedTree, place: IndexPlace, shop: Path
):
    finished(tree)
    (shop / "src/a.py").write_text("def gamma():\n    pass\n")
    assert finished(tree).step.differing == 1
    assert symbols(place, "src/a.py") == ["gamma"]


def test_a_file_of_the_same_size_and_time_is_found(tree: IndexedTree, place: IndexPlace, shop: Path):
    finished(tree)
    before = (shop / "src/a.py").stat()
    (shop / "src/a.py").write_text("def omega():\n    pass\n")
    os.utime(shop / "src/a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    finished(tree)
    assert symbols(place, "src/a.py") == ["omega"]


def test_a_file_that_is_written_again_at_once_is_found(tree: IndexedTree, place: IndexPlace, shop: Path):
    """Its time may be the same: that of a file that has just been written is not believed."""
    for name in ("one", "two", "six"):
        (shop / "src/a.py").write_text(f"def {name}():\n    pass\n")
        finished(tree)
        assert symbols(place, "src/a.py") == [name]


def test_new_and_deleted_files_are_followed(tree: IndexedTree, place: IndexPlace, shop: Path):
    finished(tree)
    write(shop, **{"new/deep/c.py": "c = 1\n"})
    (shop / "src/b.py").unlink()
    finished(tree)
    assert paths(place) == ["new/deep/c.py", "src/a.py"]


def test_a_file_that_becomes_binary_leaves_the_index(tree: IndexedTree, place: IndexPlace, shop: Path):
    finished(tree)
    (shop / "src/b.py").write_bytes(b"\0\1\2")
    finished(tree)
    assert paths(place) == ["src/a.py"]


def test_a_switch_of_branches_reads_only_what_differs(believed: None, tree: IndexedTree, place: IndexPlace, shop: Path):
    git(shop, "checkout", "-q", "-b", "other")
    write(shop, **{"src/c.py": "def delta():\n    pass\n"})
    other = commit(shop, "add delta")
    git(shop, "checkout", "-q", "main")
    finished(tree)
    assert paths(place) == ["src/a.py", "src/b.py"]
    git(shop, "checkout", "-q", "other")
    found = finished(tree)
    assert (found.step.differing, found.step.commit) == (1, other)
    assert paths(place) == ["src/a.py", "src/b.py", "src/c.py"]
    with existing(place) as store:
        assert store.totals().past_files == 3
    git(shop, "checkout", "-q", "main")
    finished(tree)
    assert paths(place) == ["src/a.py", "src/b.py"]


def test_a_commit_alone_brings_its_subject(tree: IndexedTree, place: IndexPlace, shop: Path):
    finished(tree)
    git(shop, "commit", "-q", "--allow-empty", "-m", "empty")
    assert finished(tree).step.commit == git(shop, "rev-parse", "HEAD")


def test_an_unchanged_tree_costs_a_look(believed: None, tree: IndexedTree, shop: Path):
    finished(tree)
    assert tree.advance(LONG).outcome is AdvanceOutcome.UNCHANGED
    (shop / "empty").mkdir()
    finished(tree)
    assert tree.advance(LONG).outcome is AdvanceOutcome.UNCHANGED
    (shop / "empty/d.py").write_text("d = 1\n")
    assert finished(tree).step.total == 3


def test_an_ignored_folder_is_not_looked_at(believed: None, tree: IndexedTree, shop: Path):
    write(shop, **{".gitignore": "build/\n", "build/out/a.o": "x"})
    finished(tree)
    (shop / "build/out/b.o").touch()
    assert tree.advance(LONG).outcome is AdvanceOutcome.UNCHANGED


def test_a_bare_repository_is_read_at_its_head(shop: Path, place: IndexPlace, tmp_path: Path):
    git(tmp_path, "clone", "-q", "--bare", str(shop), "bare.git")
    tree = IndexedTree(tmp_path.resolve() / "bare.git", place)
    finished(tree)
    assert paths(place) == ["src/a.py", "src/b.py"]
    write(shop, **{"src/c.py": "c = 1\n"})
    commit(shop, "more")
    git(shop, "push", "-q", str(tmp_path / "bare.git"), "main")
    finished(tree)
    assert paths(place) == ["src/a.py", "src/b.py", "src/c.py"]


def test_an_empty_repository_is_complete(place: IndexPlace, tmp_path: Path):
    found = finished(IndexedTree(new(tmp_path.resolve() / "empty"), place))
    assert (found.step.total, found.step.share, found.step.commit) == (0, 1.0, "")


# -- In moments --------------------------------------------------------------------------------------


def test_a_run_goes_on_where_it_was(tree: IndexedTree, place: IndexPlace, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "BATCH", 1)
    shares = []
    while (found := tree.advance(0)).outcome is AdvanceOutcome.WORKING:
        shares.append(found.step.share)
    assert found.outcome is AdvanceOutcome.DONE
    assert len(shares) >= 3
    assert shares == sorted(shares)
    assert paths(place) == ["src/a.py", "src/b.py"]


def test_a_batch_is_searchable_when_it_is_reported(
    tree: IndexedTree, place: IndexPlace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "BATCH", 1)
    assert tree.advance(0).step.done == 0
    assert tree.advance(0).step.done == 1
    with existing(place) as store:
        assert store.totals().files == 1
        assert store.file_counts(["alpha", "beta"]) == {"alpha": 1}


def test_what_a_lost_process_has_written_is_not_written_again(
    believed: None, shop: Path, place: IndexPlace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "BATCH", 1)
    lost = IndexedTree(shop, place)
    assert lost.advance(0).step.done == 0
    assert lost.advance(0).step.done == 1
    lost.stop()
    assert finished(IndexedTree(shop, place)).step.differing == 1


def test_one_process_at_a_time_writes(tree: IndexedTree, shop: Path, place: IndexPlace):
    tree.advance(0)
    other = IndexedTree(shop, place)
    assert other.advance(LONG).outcome is AdvanceOutcome.BUSY
    finished(tree)
    finished(other)


def test_a_lock_ends_with_the_process_that_holds_it(shop: Path, sqlite: SqlitePlace):
    held = os.open(sqlite.file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    child = os.fork()
    if child == 0:  # it inherits nothing but the file that is locked
        fcntl.flock(held, fcntl.LOCK_EX)
        os._exit(0)
    os.close(held)
    os.waitpid(child, 0)
    finished(IndexedTree(shop, sqlite))


def test_an_index_that_was_deleted_is_made_anew(believed: None, shop: Path, place: IndexPlace):
    assert indexer.advance(shop, place, LONG).outcome is AdvanceOutcome.DONE
    emptied(place)
    assert indexer.advance(shop, place, LONG).step.differing == 2
    assert paths(place) == ["src/a.py", "src/b.py"]


def test_an_index_that_is_deleted_during_a_run_is_made_anew(
    shop: Path, place: IndexPlace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "BATCH", 1)
    for _ in range(2):
        assert indexer.advance(shop, place, 0).outcome is AdvanceOutcome.WORKING
    emptied(place)
    outcomes = [indexer.advance(shop, place, LONG).outcome for _ in range(2)]
    assert AdvanceOutcome.DONE in outcomes
    assert AdvanceOutcome.FAILED not in outcomes
    assert paths(place) == ["src/a.py", "src/b.py"]


def test_an_emptied_index_is_made_anew_though_the_tree_is_unchanged(believed: None, shop: Path, sqlite: SqlitePlace):
    """A file that is deleted and made again often has the inode that it had."""
    tree = IndexedTree(shop, sqlite)
    finished(tree)
    sqlite.file.write_bytes(b"")
    assert finished(tree).step.differing == 2
    assert paths(sqlite) == ["src/a.py", "src/b.py"]


@pytest.mark.parametrize("new_place", [IN_POSTGRES], indirect=True)
def test_tables_that_a_crash_of_the_server_has_emptied_are_made_anew(
    believed: None, tree: IndexedTree, place: PostgresPlace
):
    """Postgres empties unlogged tables when it starts after a crash."""
    finished(tree)
    with psycopg.connect(place.conninfo) as connection:
        for table in ("files", "terms", "grams", "past", "stamps", "facts", "totals"):
            connection.execute(sql.SQL("TRUNCATE {}").format(sql.Identifier(place.schema, table)))
    assert place.existing() is None
    assert finished(tree).step.differing == 2
    assert paths(place) == ["src/a.py", "src/b.py"]


# -- What can be wrong -------------------------------------------------------------------------------


def test_a_folder_that_is_gone_says_what_to_do_and_can_come_back(shop: Path, place: IndexPlace, tmp_path: Path):
    indexer.advance(shop, place, LONG)
    shop.rename(tmp_path / "away")
    found = indexer.advance(shop, place, LONG)
    assert found.outcome is AdvanceOutcome.FAILED
    assert str(shop) in found.error
    (tmp_path / "away").rename(shop)
    assert indexer.advance(shop, place, LONG).outcome in (AdvanceOutcome.DONE, AdvanceOutcome.UNCHANGED)


def test_a_file_that_ended_the_process_is_read_by_readers(
    shop: Path, sqlite: SqlitePlace, monkeypatch: pytest.MonkeyPatch
):
    """They leave it out if it ends them too. A few other files are then read here again."""
    child = os.fork()
    if child == 0:  # as a parser with a fault ends it
        file_reads.document_of = lambda *_: os._exit(1)  # type: ignore[assignment]
        indexer.advance(shop, sqlite, LONG)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    with monkeypatch.context() as patched:
        patched.setattr(file_reads, "document_of", lambda *_: pytest.fail("a file was read here"))
        finished(IndexedTree(shop, sqlite))
    assert paths(sqlite) == ["src/a.py", "src/b.py"]
    with monkeypatch.context() as patched:
        patched.setattr(readers, "read", lambda *_: pytest.fail("readers were started"))
        finished(IndexedTree(shop, sqlite))


def test_a_damaged_index_is_made_anew(shop: Path, sqlite: SqlitePlace):
    sqlite.file.write_bytes(b"not a database" * 1000)
    found = indexer.advance(shop, sqlite, LONG)
    assert found.outcome is AdvanceOutcome.FAILED
    assert "will be rebuilt" in found.error
    sqlite.file.touch()
    assert indexer.advance(shop, sqlite, LONG).outcome is AdvanceOutcome.DONE
