"""Processes read files for the one that writes: in order, and whatever happens to them."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest

from gateway.connectors.codebase.child_processes import ChildProcesses
from gateway.connectors.codebase.index.document import digest_of
from gateway.connectors.codebase.index.index_place import IndexFailed, SqlitePlace
from gateway.connectors.codebase.indexing import file_reads, run
from gateway.connectors.codebase.indexing.advance import AdvanceOutcome
from gateway.connectors.codebase.indexing.file_reads import Digests, ReadFiles, read_files
from gateway.connectors.codebase.indexing.indexer import IndexedTree
from gateway.connectors.codebase.indexing.process import IndexingProcess
from gateway.connectors.codebase.indexing.readers import AHEAD, Readers
from tests.gateway.connectors.codebase.repositories import new

FILES = {f"src/part_{number:02}.py": f"def part_{number}():\n    pass\n" for number in range(60)}
MOMENT = 20_000  # milliseconds


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return new(tmp_path.resolve() / "shop", **FILES)


@pytest.fixture
def readers() -> Iterator[Readers]:
    readers = Readers()
    yield readers
    readers.processes.stop()


def batches(size: int = 10) -> list[Digests]:
    names = list(FILES)
    return [dict.fromkeys(names[start : start + size], b"") for start in range(0, len(names), size)]


def read_fatally(root: Path, batch: Digests) -> ReadFiles:
    """As a parser with a fault would: one file ends the process, and another one keeps it for ever."""
    if "src/part_03.py" in batch:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "src/part_41.py" in batch:
        signal.pause()
    return read_files(root, batch)


def read_one(root: Path, batch: Digests) -> ReadFiles:
    """As if the batch were too large after its first file."""
    first, *rest = batch
    found = read_files(root, {first: batch[first]})
    found.rest = rest
    return found


def stall(*_: object) -> ReadFiles:
    signal.pause()
    return ReadFiles()


def read_after_two_deaths(deaths: Path, root: Path, batch: Digests) -> ReadFiles:
    before = deaths.read_text() if deaths.exists() else ""
    if len(before) < 2:
        deaths.write_text(before + "x")
        os.kill(os.getpid(), signal.SIGKILL)
    return read_files(root, batch)


def paths(found: Iterable[ReadFiles]) -> list[str]:
    return [path for each in found for path in each.paths]


def test_batches_come_in_their_order_and_the_processes_end(shop: Path, readers: Readers):
    found = readers.read(shop, batches())
    first = next(found)
    assert [each.path for each in first.documents] == list(FILES)[:10]
    assert [symbol.name for symbol in first.documents[7].symbols] == ["part_7"]
    assert paths([first, *found]) == list(FILES)
    assert readers.processes._pool is None


def test_two_runs_share_the_processes(shop: Path, readers: Readers):
    one, other = readers.read(shop, batches()), readers.read(shop, batches())
    next(one), next(other)
    pool = readers.processes._pool
    assert len(paths(one)) == 50
    assert readers.processes._pool is pool, "the other run goes on"
    assert len(paths(other)) == 50
    assert readers.processes._pool is None


def test_what_is_unchanged_or_left_out_is_told(shop: Path, readers: Readers):
    (shop / "src/part_01.py").write_bytes(b"\0")
    batch = {"src/part_00.py": digest_of(FILES["src/part_00.py"].encode()), "src/part_01.py": b"", "gone.py": b"x"}
    (found,) = readers.read(shop, [batch])
    assert (found.documents, found.unchanged, found.left_out) == ([], ["src/part_00.py"], ["src/part_01.py", "gone.py"])


def test_large_files_are_read_in_several_batches(shop: Path):
    large = {"a.txt": b"a " * 300_000, "b.txt": b"b " * 300_000}
    for name, content in large.items():
        (shop / name).write_bytes(content)
    few = list(file_reads.read_here(shop, [dict.fromkeys((*large, *FILES), b"")]))
    assert len(few) == 1
    many = dict.fromkeys([f"{number}.txt" for number in range(10)], b"")
    for name in many:
        (shop / name).write_bytes(large["a.txt"])
    for found in (list(file_reads.read_here(shop, [many])), list(Readers().read(shop, [many]))):
        assert [len(each.paths) for each in found] == [4, 4, 2]
        assert paths(found) == list(many)


def test_few_batches_are_in_memory_however_large_the_files_are(shop: Path):
    """A batch that is too large is read in pieces."""
    given = 0

    def counted() -> Iterator[Digests]:
        nonlocal given
        for batch in batches(size=3):
            given += 1
            yield batch

    reader = Readers(read_one)
    for number, found in enumerate(reader.read(shop, counted())):
        assert found.paths == [list(FILES)[number]]
        assert given <= number // 3 + 1 + AHEAD
    assert given == 20


def test_a_file_that_ends_its_reader_or_hangs_it_is_left_out(shop: Path):
    readers = Readers(read_fatally, batch_seconds=1.5, file_seconds=0.5)
    found = list(readers.read(shop, batches()))
    assert paths(found) == list(FILES)
    assert [path for each in found for path in each.left_out] == ["src/part_03.py", "src/part_41.py"]


def test_readers_that_cannot_start_are_not_the_fault_of_a_file(shop: Path, readers: Readers):
    readers.processes = ChildProcesses(2, os.abort)
    with pytest.raises(IndexFailed, match="cannot start"):
        list(readers.read(shop, batches(1)[:1]))


def test_a_file_system_that_stalls_is_not_the_fault_of_a_file(shop: Path):
    readers = Readers(stall, stall, batch_seconds=0.2, file_seconds=0.1)
    with pytest.raises(IndexFailed, match="does not answer"):
        list(readers.read(shop, batches(1)[:1]))


def test_a_reader_that_is_killed_once_costs_no_file(shop: Path, tmp_path: Path):
    """As the kernel does for want of memory: twice, for the batch and for its first file."""
    readers = Readers(partial(read_after_two_deaths, tmp_path / "deaths"))
    (found,) = readers.read(shop, batches(1)[:1])
    assert [each.path for each in found.documents] == ["src/part_00.py"]


def test_an_index_made_with_readers_is_complete(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "BATCH", 25)
    assert IndexedTree(shop, SqlitePlace(tmp_path / "index.sqlite3")).advance(60).outcome is AdvanceOutcome.DONE


# -- The end of the processes ------------------------------------------------------------------------


def ended(pid: int) -> bool:
    """Waits for it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([handle], [], [], MOMENT / 1000)
    os.close(handle)
    return bool(ready)


def descendants(pid: int) -> list[int]:
    """Of all threads: the processes of a pool are started by one of them."""
    found = [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
    return [*found, *(each for child in found for each in descendants(child))]


def test_they_end_with_the_process_that_is_stopped(shop: Path, tmp_path: Path):
    place = SqlitePlace(tmp_path / "index.sqlite3")
    place.file.touch()
    process = IndexingProcess()
    assert process.advance(shop, place, 0).outcome is AdvanceOutcome.WORKING
    assert process.advance(shop, place, 0).outcome is AdvanceOutcome.WORKING
    before = descendants(process._children.pool().schedule(os.getpid).result())
    assert len(before) >= 2
    process.stop()
    assert all(map(ended, before))


CODE = """
import sys
from pathlib import Path
from gateway.connectors.codebase.index.index_place import IndexFailed, SqlitePlace
from gateway.connectors.codebase.indexing.process import IndexingProcess
if __name__ == "__main__":
    process = IndexingProcess()
    for _ in range(2):
        process.advance(Path(sys.argv[1]), SqlitePlace(Path(sys.argv[2])), 0)
    print("reading", flush=True)
    sys.stdin.read()
"""


def test_they_end_with_a_process_that_is_killed(shop: Path, tmp_path: Path):
    program, file = tmp_path / "program.py", tmp_path / "index.sqlite3"
    program.write_text(CODE)
    file.touch()
    process = subprocess.Popen(
        [sys.executable, program, shop, file],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"reading\n"
    before = descendants(process.pid)
    assert len(before) >= 3
    process.kill()
    process.communicate()
    assert all(map(ended, before))
