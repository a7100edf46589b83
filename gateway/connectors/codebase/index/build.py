"""Brings an index up to date with the files and the history of its project."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from gateway.connectors.codebase.index.document import IndexedDocument
from gateway.connectors.codebase.index.store import IndexStore

SUBJECTS = 100  # subjects of a file's newest commits that are indexed
PAST_OF = "past of"
MOST_PATHS = 50  # paths of a commit; if it has more, its subject says little about each


def replace_files(
    store: IndexStore,
    documents: Sequence[IndexedDocument],
    removed: Sequence[str] = (),
    stamps: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """`documents`: new or changed files. `removed`: paths that no longer exist. Other files stay as they are. `stamps`:
    path → what the caller compares later to see whether the file has changed. Readers of the index see all of these
    changes or none."""
    with store.batch():
        store.put(documents)
        store.remove(removed)
        store.put_stamps(stamps)


def past_of(store: IndexStore) -> str:
    """The commit up to which the history is indexed, as passed to `replace_past`; "" if there is none yet."""
    return store.fact(PAST_OF)


class PastOfFiles:
    """The subjects and the age of the commits to the files at `paths`. Its size depends on the number of files, not on
    the length of the history."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        self._subjects: dict[str, list[str]] = {}
        self._ages: dict[str, int] = {}
        self._commits = 0

    def add(self, subject: str, paths: Sequence[str]) -> None:
        """Adds a commit, which is older than those added before."""
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
    """Replaces the history of all files, which `replace_files` leaves as it is. `of`: the id of the newest commit."""
    with store.batch():
        store.replace_past(past)
        store.put_fact(PAST_OF, of)
