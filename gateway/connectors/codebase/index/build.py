"""Brings an index up to date with the files and the history of its project."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from gateway.connectors.codebase.index.document import IndexedDocument
from gateway.connectors.codebase.index.store import IndexStore

SUBJECTS = 100  # of a file's newest commits
PAST_OF = "past of"
MOST_PATHS = 50  # of a commit: its subject says little about each of more


def replace_files(
    store: IndexStore,
    documents: Sequence[IndexedDocument],
    removed: Sequence[str] = (),
    stamps: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """`documents`: of files that are new or have changed. `removed`: paths that are no more. The others stay as they
    are. `stamps`: what the caller will know files by. Readers of the index see all of it or nothing."""
    with store.batch():
        store.put(documents)
        store.remove(removed)
        store.put_stamps(stamps)


def past_of(store: IndexStore) -> str:
    """The commit up to which the past is indexed, as `replace_past` was given it; "" before."""
    return store.fact(PAST_OF)


class PastOfFiles:
    """What the commits say of the files at `paths`. It is as large as these are many, however long the history is."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        self._subjects: dict[str, list[str]] = {}
        self._ages: dict[str, int] = {}
        self._commits = 0

    def add(self, subject: str, paths: Sequence[str]) -> None:
        """A commit that is older than those before."""
        for path in filter(self._paths.__contains__, paths):
            self._ages.setdefault(path, self._commits)
            subjects = self._subjects.setdefault(path, [])
            if len(paths) <= MOST_PATHS and len(subjects) < SUBJECTS:
                subjects.append(subject)
        self._commits += 1

    def __iter__(self) -> Iterator[tuple[str, Sequence[str], int]]:
        """The path of each file that a commit touched, the subjects of its newest commits, and its age in commits."""
        for path, age in self._ages.items():
            yield path, self._subjects[path], age


def replace_past(store: IndexStore, past: PastOfFiles, of: str = "") -> None:
    """`of`: the id of the newest commit. Files keep what is said here when their contents change."""
    with store.batch():
        store.replace_past(past)
        store.put_fact(PAST_OF, of)
