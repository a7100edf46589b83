"""Works on the index of a project for a moment at a time. Runs in the indexing process, without Django.

Between two moments, an unfinished run stays in memory, so that many projects can take turns. It is lost if the process
ends, but the index keeps what was written, and the next run continues from there.
"""

import time
from collections.abc import Generator, Set
from pathlib import Path

import pygit2

from gateway.connectors.codebase.git.refusal import RepositoryRefused
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.index_place import IndexFailed, IndexGone, IndexPlace
from gateway.connectors.codebase.indexing.advance import Advance, AdvanceOutcome, RunStep
from gateway.connectors.codebase.indexing.run import IndexRun
from gateway.connectors.codebase.indexing.tree_watch import TreeWatch


def advance(root: Path, place: IndexPlace, seconds: float) -> Advance:
    """Works on the project at `root` for about `seconds`. `place`: where its index is; the place must have been
    created. An error of the repository or of the index is returned, not raised."""
    try:
        return _tree_of(root, place).advance(seconds)
    except RepositoryRefused as error:
        return Advance(AdvanceOutcome.FAILED, error=str(error))
    except pygit2.GitError as error:
        return Advance(AdvanceOutcome.FAILED, error=f"The git repository at {root} cannot be read: {error}.")
    except IndexFailed as error:
        return Advance(AdvanceOutcome.FAILED, error=str(error))
    except IndexGone:
        return Advance(AdvanceOutcome.WORKING)  # the next call rebuilds it


class IndexedTree:
    """What this process remembers about a project: its unfinished run, and a watch that detects whether the tree has
    changed since the last finished run began."""

    def __init__(self, root: Path, place: IndexPlace) -> None:
        self.root, self._place, self._identity = root, place, place.identity()
        self._watch: TreeWatch | None = None
        self._run: Generator[Advance, None, None] | None = None

    @property
    def has_its_index(self) -> bool:
        """False if the index was deleted or replaced: the project was removed, or its index is to be rebuilt."""
        return self._place.identity() == self._identity

    def advance(self, seconds: float) -> Advance:
        if self._run is None:
            if self._watch and self._is_there() and self._watch.is_unchanged(opened(self.root)):
                return Advance(AdvanceOutcome.UNCHANGED)
            self._run = self._advances()
        ends = time.monotonic() + seconds
        try:
            last = next(self._run)
            while last.outcome is AdvanceOutcome.WORKING and time.monotonic() < ends:
                last = next(self._run)
        except BaseException:
            self._run = None
            raise
        if last.outcome is not AdvanceOutcome.WORKING:
            self.stop()
        return last

    def _is_there(self) -> bool:
        """Whether there is an index at the place. `has_its_index` cannot always tell: an empty file that replaced a
        deleted one may have the same inode."""
        store = self._place.existing()
        if store is not None:
            store.close()
        return store is not None

    def stop(self) -> None:
        """Abandons the unfinished run, and with it the lock, so that another process can index the project."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def _advances(self) -> Generator[Advance, None, None]:
        """A run, if no other process writes the index."""
        with self._place.writing() as store:
            if store is None:
                yield Advance(AdvanceOutcome.BUSY)
            else:
                yield from self._steps(IndexRun(self.root, store))

    def _steps(self, run: IndexRun) -> Generator[Advance, None, None]:
        """Estimates the remaining time from the speed of this run so far. `first`: the share that was already done when
        it began."""
        began, first, step = time.monotonic(), None, RunStep()
        for step in run.steps():
            first = step.share if first is None else first
            elapsed, done = time.monotonic() - began, step.share - first
            yield Advance(AdvanceOutcome.WORKING, step, elapsed * (1 - step.share) / done if done > 0 else 0.0)
        self._watch = run.watch
        yield Advance(AdvanceOutcome.DONE, step)


def keep(places: Set[IndexPlace]) -> None:
    """Forgets all other places, which releases their connections, locks and readers."""
    for place in _trees.keys() - places:
        _trees.pop(place).stop()


_trees: dict[IndexPlace, IndexedTree] = {}


def _tree_of(root: Path, place: IndexPlace) -> IndexedTree:
    """The remembered tree of this place, or a new one. Trees whose index is gone, and one of this project with another
    folder, are forgotten first."""
    for known, tree in [*_trees.items()]:
        if not tree.has_its_index or (known == place and tree.root != root):
            _trees.pop(known).stop()
    return _trees.setdefault(place, IndexedTree(root, place))
