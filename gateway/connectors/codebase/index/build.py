"""Brings an index up to date with the files and the history of its project."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from gateway.connectors.codebase.index.document import digest_of, document_of
from gateway.connectors.codebase.index.store import IndexStore

BATCH = 500  # files that are written at once: some MB
SUBJECTS = 100  # of a file's newest commits
MOST_PATHS = 50  # of a commit: its subject says little about each of more

SourceFile = tuple[str, int, bytes]  # path, size, content
Commit = tuple[str, Sequence[str]]  # subject, paths


@dataclass(slots=True)
class Update:
    """Files counted so far."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0

    @property
    def read(self) -> int:
        return self.written + self.unchanged


def replace_all(store: IndexStore, files: Iterable[SourceFile]) -> Iterator[Update]:
    """`files`: all files of the project; what else is indexed is removed at the end. Yields after each batch, which is
    searchable then. Begun again after a stop, it writes only what is missing."""
    number, update, files = store.next_update(), Update(), iter(files)
    while batch := list(islice(files, BATCH)):
        with store.batch():
            _write(store, batch, number, update)
        yield update
    with store.batch():
        update.removed = store.remove_unseen(number)
    yield update


def replace_some(store: IndexStore, files: Iterable[SourceFile], removed: Iterable[str] = ()) -> Update:
    """`files`: those that may have changed. `removed`: paths that are no more. The others stay as they are."""
    update = Update()
    with store.batch():
        _write(store, files, max(1, store.next_update() - 1), update)
        update.removed = sum(store.remove(path) for path in removed)
    return update


def _write(store: IndexStore, files: Iterable[SourceFile], number: int, update: Update) -> None:
    for path, _, content in files:
        if store.is_current(path, digest_of(content)):
            store.mark_seen(path, number)
            update.unchanged += 1
        else:
            store.put(document_of(path, content), number)
            update.written += 1


def replace_past(store: IndexStore, commits: Iterable[Commit]) -> None:
    """`commits`: newest first. Files keep what is said here when their contents change."""
    subjects: defaultdict[str, list[str]] = defaultdict(list)
    ages: dict[str, int] = {}
    for age, (subject, paths) in enumerate(commits):
        for path in paths:
            ages.setdefault(path, age)
            if len(paths) <= MOST_PATHS and len(subjects[path]) < SUBJECTS:
                subjects[path].append(subject)
    with store.batch():
        store.replace_past((path, subjects[path], age) for path, age in ages.items())
