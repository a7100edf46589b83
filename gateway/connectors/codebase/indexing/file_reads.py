"""Reads files of a tree, and creates the documents that the index stores."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.document import IndexedDocument, digest_of, document_of
from gateway.connectors.codebase.tree import files

MOST_BYTES = 2_000_000  # bytes after which a batch reads no further file: its documents are in memory together

Digests = Mapping[str, bytes]  # path → the digest of the content that is indexed; empty for a file that is not


@dataclass(slots=True)
class ReadFiles:
    """`documents`: new or changed files. The other fields are paths. `left_out`: files that no longer exist or do not
    belong in the index. `rest`: files that were not read, because the batch was too large."""

    documents: list[IndexedDocument] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        """The paths of all files that were read or left out."""
        return [*(each.path for each in self.documents), *self.unchanged, *self.left_out]


def read_files(root: Path, batch: Digests) -> ReadFiles:
    """Reads files of the batch until they have MOST_BYTES together. The others are `rest`."""
    repository, found, size = opened(root), ReadFiles(), 0
    for path, digest in batch.items():
        if size >= MOST_BYTES:
            found.rest.append(path)
            continue
        file = files.file_at(root, repository, path)
        if file is None:
            found.left_out.append(path)
        elif digest_of(file.content) == digest:
            found.unchanged.append(path)
        else:
            found.documents.append(document_of(path, file.content))
        size += file.size if file else 0
    return found


def look_at(root: Path, path: str) -> None:
    """Reads a file and discards its content."""
    files.file_at(root, opened(root), path)


def read_here(root: Path, batches: Iterable[Digests]) -> Iterator[ReadFiles]:
    """Yields what `read_files` returns for each batch, in order, and for the rest of a batch that was too large."""
    for batch in batches:
        found = read_files(root, batch)
        yield found
        while found.rest:
            found = read_files(root, {path: batch[path] for path in found.rest})
            yield found
