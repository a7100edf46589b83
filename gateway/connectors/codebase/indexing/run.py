"""One run: brings the index of a project up to date with its files and its history.

It works in steps, and can be abandoned after each of them: the next run does only what is missing. Stamps show which
files may have changed since they were read, so only these are read again, even after a switch of branches.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from gateway.connectors.codebase.git import history
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.batches import batched
from gateway.connectors.codebase.index.build import PastOfFiles, past_of, replace_files, replace_past
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.indexing.advance import BATCH, RunStep
from gateway.connectors.codebase.indexing.file_reads import Digests, ReadFiles, read_here
from gateway.connectors.codebase.indexing.readers import readers
from gateway.connectors.codebase.indexing.stamps import UNSETTLED, stamps_of
from gateway.connectors.codebase.indexing.tree_watch import TreeWatch, commit_of
from gateway.connectors.codebase.tree import files

FEW = 50  # files that this process reads itself, because starting the readers takes longer
COMMITS = 200  # read in one step
READS_HERE = "reads here"  # a fact in the index while this process reads; it remains if a file crashes the process
PAST_PERCENT = 10  # the share of a run's progress that reading the history counts for

Stamps = Callable[[Sequence[str]], dict[str, str]]  # the current stamps of the files at the paths


class IndexRun:
    """`watch`: tells whether the tree has changed since the run began; None until then."""

    def __init__(self, root: Path, store: IndexStore) -> None:
        self._root, self._store = root, store
        self.watch: TreeWatch | None = None

    def steps(self) -> Iterator[RunStep]:
        """Indexes the files, and then the history, unless that is already indexed up to HEAD. Raises
        RepositoryRefused."""
        began = time.time_ns()
        repository = opened(self._root)
        commit = commit_of(repository)
        paths = files.names(repository)
        self.watch = TreeWatch(self._root, repository, paths, began)
        has_past = past_of(self._store) == commit
        files_share = 1.0 if has_past else 1 - PAST_PERCENT / 100
        stamps = self._stamps(repository.is_bare, commit)
        del repository  # it holds git's list of the files
        for done, differing in self._file_steps(paths, stamps):
            share = files_share * (done / len(paths) if paths else 1)
            yield RunStep(done, len(paths), differing, share, "Reading files", commit)
        if has_past:
            return
        for share in self._past_steps(paths, commit):
            whole = files_share + (1 - files_share) * share
            yield RunStep(len(paths), len(paths), differing, whole, "Reading the history", commit)

    def _stamps(self, is_bare: bool, commit: str) -> Stamps:
        """A bare repository has no files on disk. Its files change only with HEAD, so HEAD's commit is their stamp."""
        return (lambda paths: dict.fromkeys(paths, commit)) if is_bare else partial(stamps_of, self._root)

    def _file_steps(self, paths: Sequence[str], stamps: Stamps) -> Iterator[tuple[int, int]]:
        """Yields how many files are up to date, and how many were not when the run began. Deleted files are removed in
        the transaction that writes the first batch, so that a renamed file is missing under both names only briefly, if
        at all."""
        differing, gone = self._compared(paths, stamps)
        done = len(paths) - len(differing)
        yield done, len(differing)
        for found, stamped in self._read(differing, stamps):
            replace_files(self._store, found.documents, [*found.left_out, *gone], stamped)
            gone = []
            done += len(stamped)
            yield done, len(differing)
        if gone:  # no file had to be read, so there was no batch
            replace_files(self._store, (), gone)

    def _compared(self, paths: Sequence[str], stamps: Stamps) -> tuple[list[str], list[str]]:
        """The files that may have changed since they were read, and those that no longer exist."""
        project = frozenset(paths)
        differing, gone = [], [path for path in self._store.stamped() if path not in project]
        for some in batched(paths, BATCH):
            now, before = stamps(some), self._store.stamps(some)
            differing += [path for path, stamp in now.items() if not stamp or before.get(path) != stamp]
            gone += [path for path in before if path not in now]
        return differing, gone

    def _read(self, paths: Sequence[str], stamps: Stamps) -> Iterator[tuple[ReadFiles, Mapping[str, str]]]:
        """Yields the files with the stamps that they had before they were read. If a file crashes this process, the
        next run uses the readers, which find that file and leave it out."""
        if not paths:
            return
        stamped: dict[str, str] = {}  # of the files that are being read

        def batches() -> Iterator[Digests]:
            for some in batched(paths, BATCH):
                stamped.update(stamps(some))
                yield self._store.digests(some)

        if len(paths) > FEW or self._store.fact(READS_HERE):
            read = readers.read(self._root, batches())
        else:
            self._store.put_fact(READS_HERE, "yes")
            read = read_here(self._root, batches())
        for found in read:
            yield found, {path: stamped.pop(path, UNSETTLED) for path in found.paths}
        self._store.put_fact(READS_HERE, "")

    def _past_steps(self, paths: Sequence[str], commit: str) -> Iterator[float]:
        """Yields the share of the history that has been read, 0 to 1."""
        repository = opened(self._root)
        past, total = PastOfFiles(paths), max(1, history.count(repository))
        for read, each in enumerate(history.past(repository), start=1):
            past.add(each.subject, each.paths)
            if read % COMMITS == 0:
                yield min(1.0, read / total)
        replace_past(self._store, past, of=commit)
        yield 1.0
