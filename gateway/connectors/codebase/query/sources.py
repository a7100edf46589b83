"""What a query reads: the files of its scope, their index, and the repository."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from context_protection.core.cached_property import cached_property
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.query.scope import QueryScope
from gateway.connectors.codebase.tree import files


@dataclass(frozen=True)
class Sources:
    """`store`: None while there is no index. `is_indexed`: the index has all files. To be used by one thread."""

    root: Path
    repository: pygit2.Repository
    store: IndexStore | None
    is_indexed: bool
    scope: QueryScope

    @cached_property
    def paths(self) -> list[str]:
        """The paths of the files in the scope, sorted. Taken from the index if it is complete: it may lag by a few
        seconds, but is a hundred times faster."""
        if self.index:
            return self.index.paths()
        return [path for path in files.names(self.repository) if self.scope.holds(path)]

    def paths_that_may_hold(self, texts: Sequence[str]) -> list[str]:
        """The paths in the scope whose files may contain all of the texts, ignoring case; all paths in the scope if
        there is no complete index, or if the texts are too short to search for."""
        found = self.index.paths_that_may_hold(texts) if self.index else None
        return self.paths if found is None else found

    @cached_property
    def index(self) -> IndexStore | None:
        """The store, restricted to the scope; None if there is no index, or if it lacks files."""
        if self.store is None or not self.is_indexed:
            return None
        if not self.scope.is_whole:
            self.store.choose(self.scope.holds)
        return self.store

    def read(self, path: str) -> bytes | None:
        """The content of a text file; None if `file_at` finds none, for example because it has disappeared or is too
        large. Raises PathRefused for a path that leads out of the project."""
        file = files.file_at(self.root, self.repository, path)
        return file.content if file else None

    def text(self, path: str) -> str | None:
        content = self.read(path)
        return None if content is None else content.decode(errors="replace")
