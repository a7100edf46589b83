"""Indexes of files that are given as texts or bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.build import PastOfFiles, replace_files, replace_past
from gateway.connectors.codebase.index.document import document_of
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.tree import files


def put(store: IndexStore, files: Mapping[str, str | bytes], removed: Iterable[str] = ()) -> None:
    contents = {
        path: content.encode(errors="surrogateescape") if isinstance(content, str) else content
        for path, content in files.items()
    }
    replace_files(store, [document_of(path, content) for path, content in contents.items()], [*removed])


def put_past(store: IndexStore, commits: Iterable[tuple[str, Sequence[str]]]) -> None:
    """`commits`: subject and paths, newest first."""
    commits = [*commits]
    past = PastOfFiles([path for _, paths in commits for path in paths])
    for subject, paths in commits:
        past.add(subject, paths)
    replace_past(store, past)


def text_files(root: Path) -> Iterator[files.TreeFile]:
    """All that an index has of the project."""
    repository = opened(root)
    return (file for path in files.names(repository) if (file := files.file_at(root, repository, path)))
