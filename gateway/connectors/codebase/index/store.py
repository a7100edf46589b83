"""The interface of a project's index, for the code that writes and searches it. The index is a file of SQLite, or a
schema of Postgres."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from gateway.connectors.codebase.index.document import FileTerms, IndexedDocument
from gateway.connectors.codebase.index.symbols import Symbol

PROPOSED = 300  # files by their terms, and as many by their history's: these include 98 % of the right files
RAREST = 24  # terms of a question that propose files; a long question's common words would match every file


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts over all files. `past_files`: files with a history. `path_terms` and so on: the terms of all files
    together."""

    files: int = 0
    path_terms: int = 0
    symbol_terms: int = 0
    body_terms: int = 0
    past_files: int = 0
    past_terms: int = 0


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """`past`: terms of the subjects of the commits that touched the file. `age`: how many commits are newer than its
    last one; None without a history."""

    path: str
    terms: FileTerms
    past: str
    age: int | None


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    path: str
    symbol: Symbol


class IndexStore(Protocol):
    """To be used by one thread. One process writes at a time; others read meanwhile, and see a batch when it is
    complete."""

    def close(self) -> None: ...

    def __enter__(self) -> "IndexStore": ...

    def __exit__(self, *_: object) -> None: ...

    # Writing

    def batch(self) -> AbstractContextManager[None]:
        """Readers see either all of what the block writes, or nothing."""

    def digests(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Path → the digest of the content that is indexed; empty for a file that is not indexed."""

    def put(self, documents: Sequence[IndexedDocument]) -> None:
        """Adds the files, or replaces them."""

    def remove(self, paths: Sequence[str]) -> None:
        """Removes the files with their history and stamps. They need not be indexed."""

    def put_stamps(self, stamps: Mapping[str, str]) -> None: ...

    def put_fact(self, name: str, value: str) -> None: ...

    def replace_past(self, past: Iterable[tuple[str, Sequence[str], int]]) -> None:
        """`past`: path, subjects of the commits that touched it, and its age in commits. Files that are not indexed are
        ignored."""

    # Reading

    def totals(self) -> Totals: ...

    def stamps(self, paths: Sequence[str]) -> dict[str, str]:
        """Path → stamp, as passed to `put_stamps`. Paths without a stamp are left out."""

    def stamped(self) -> Iterator[str]:
        """The paths that have a stamp."""

    def fact(self, name: str) -> str:
        """The value passed to `put_fact`; "" if there is none."""

    def paths(self) -> list[str]: ...

    def choose(self, holds: Callable[[str], bool]) -> None:
        """Restricts `paths`, `paths_that_may_hold` and `proposed` to the paths for which `holds` is true."""

    def paths_that_may_hold(self, texts: Sequence[str]) -> list[str] | None:
        """The paths of the files that may contain all of the texts, ignoring case, sorted. None if the texts are too
        short to search for: see GramsQuery."""

    def file_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Term → the number of files that have it, or whose history has it, whichever is larger. Terms of no file are
        left out."""

    def proposed(self, rarity: Mapping[str, float]) -> list[int]:
        """Ids of the files to rank. `rarity`: what each term of the question is worth."""

    def files(self, ids: Sequence[int]) -> Iterator[IndexedFile]: ...

    def symbols_of(self, path: str) -> list[Symbol]: ...

    def find_symbols(self, name: str, *, most: int) -> list[FoundSymbol]:
        """At most `most` definitions of the name, ignoring case: those with the same case first, then by path and
        line."""


def rarest(rarity: Mapping[str, float]) -> list[str]:
    """The terms that propose files, the rarest first."""
    return sorted(rarity, key=lambda term: (-rarity[term], term))[:RAREST]
