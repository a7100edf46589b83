"""Folders and files that give scopes their names: in many projects a change to packages/parser has the scope parser,
and one to tests/test_parser.py too."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

MOST_PATHS = 60  # paths of a commit that are considered; a larger commit says little about each
_DOUBT = 3  # commits that count against each place, so that a few commits do not make it certain
_BETWEEN_WORDS = re.compile(r"[-_.]")
_JOINING = "-/._"  # characters that join the names of two folders in a scope
_ANY_FILE, _ANY_FOLDER = "a file", "the folder of a file"

# Where a name is taken from (the folder above it, or one of the constants), and how the scope is formed from it.
_Source = tuple[str, str]


@lru_cache(maxsize=20_000)
def plain_name(text: str) -> str:
    """A key for comparing scopes: spellings that differ only in case and punctuation have the same key."""
    return "".join(filter(str.isalnum, text.casefold()))


def prefixes(path: str) -> list[str]:
    """The path and all folders above it, the highest first."""
    parts = path.split("/")
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def words_of(paths: Sequence[str]) -> set[str]:
    """The words in the names of the folders and files, in lower case."""
    return {word for path in paths[:MOST_PATHS] for word in re.split(r"[-_./]", path.casefold())}


class ScopePlaces:
    """`commits`: the paths, the scope ("" for none) and the weight of each."""

    def __init__(self, commits: Iterable[tuple[Sequence[str], str, float]]) -> None:
        seen, named = defaultdict[_Source, float](float), defaultdict[_Source, float](float)
        for paths, scope, weight in commits:
            if not (name := plain_name(scope)):
                continue
            given = {each for path in paths[:MOST_PATHS] for each in _names(path)}
            for source in {source for source, _ in given}:
                seen[source] += weight
            for source in {source for source, each in given if plain_name(each) == name and _has_mark(scope, source)}:
                named[source] += weight
        self._sureness = {source: count / (seen[source] + _DOUBT) for source, count in named.items() if count > 1}

    def candidates(self, paths: Sequence[str]) -> dict[str, tuple[float, str]]:
        """The scopes that the places of the change suggest, by plain name: how sure each is, 0 to 1, and how the place
        spells it."""
        given: defaultdict[_Source, Counter[str]] = defaultdict(Counter)
        for path in paths[:MOST_PATHS]:
            for source, name in set(_names(path)):
                if source in self._sureness:
                    given[source][name] += 1
        found: dict[str, tuple[float, str]] = {}
        for source, counts in given.items():
            for name, count in counts.items():
                sureness = self._sureness[source] * count / min(len(paths), MOST_PATHS)
                found[plain_name(name)] = max(found.get(plain_name(name), (0.0, "")), (sureness, name))
        return found


def _has_mark(scope: str, source: _Source) -> bool:
    """Whether the scope contains the character that joins a name to its folder's, if the source has one."""
    mark = source[1][-1]
    return mark in scope or mark not in _JOINING


@lru_cache(maxsize=20_000)
def _names(path: str) -> tuple[tuple[_Source, str], ...]:
    """All scopes that could be formed from the folders and the file of a path."""
    return tuple(_named(path.split("/")))


def _named(parts: Sequence[str]) -> Iterator[tuple[_Source, str]]:
    for depth, part in enumerate(parts):
        above = parts[depth - 1] if depth else ""
        sources = ["/".join(parts[:depth])]
        sources += [_ANY_FILE] if depth == len(parts) - 1 else [_ANY_FOLDER] if depth == len(parts) - 2 else []
        for way, name in _ways(part.lstrip(".").partition(".")[0], above):
            if plain_name(name):
                yield from (((source, way), name) for source in sources)


def _ways(name: str, above: str) -> Iterator[tuple[str, str]]:
    """The ways to form a scope from a name: the whole name, the name without its first or last word (such as test_),
    and the name joined to that of the folder above it."""
    if not name:
        return
    yield "whole", name
    words = _BETWEEN_WORDS.split(name)
    if len(words) > 1:
        yield f"without {words[0]} before it", name[len(words[0]) + 1 :]
        yield f"without {words[-1]} behind it", name[: -len(words[-1]) - 1]
    for mark in _JOINING if above else "":
        yield f"behind the folder{mark}", f"{above}{mark}{name}"
        if above.endswith("s"):
            yield f"behind one of the folder{mark}", f"{above[:-1]}{mark}{name}"
