"""Folders whose children give scopes their names: in many projects a change to packages/parser has the scope parser."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

MOST_PATHS = 60  # of a commit: more tell little of any of them
_DOUBT = 3  # commits by which a folder seems less sure than it is


@lru_cache(maxsize=20_000)
def plain_name(text: str) -> str:
    """A key for comparing scopes: spellings that differ only in case and punctuation have the same one."""
    return "".join(filter(str.isalnum, text.casefold()))


class ScopePlaces:
    """`commits`: the paths and the scope of each, "" for none."""

    def __init__(self, commits: Iterable[tuple[Sequence[str], str]]) -> None:
        seen, named = Counter[str](), Counter[str]()
        for paths, scope in commits:
            name = plain_name(scope)
            parents = list(_parents(paths))
            seen.update({parent for parent, _ in parents})
            named.update({parent for parent, child in parents if name and plain_name(child) == name})
        self._sureness = {parent: count / (seen[parent] + _DOUBT) for parent, count in named.items() if count > 1}

    def candidates(self, paths: Sequence[str]) -> dict[str, float]:
        """The names of folders and files, as they are spelled, that may be the scope of a change: 0 to 1."""
        children: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for parent, child in _parents(paths):
            if parent in self._sureness and plain_name(child):
                children[parent][child] += 1
        found: dict[str, float] = {}
        for parent, counts in sorted(children.items()):
            child, count = max(counts.items(), key=lambda each: (each[1], each[0]))
            share = count / min(len(paths), MOST_PATHS)
            found[child] = max(found.get(child, 0.0), self._sureness[parent] * share)
        return found


def _parents(paths: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Every folder of the paths, and what of it leads to the file: the name until its first full stop."""
    for path in paths[:MOST_PATHS]:
        parts = path.split("/")
        for depth, part in enumerate(parts):
            yield "/".join(parts[:depth]), part.partition(".")[0]
