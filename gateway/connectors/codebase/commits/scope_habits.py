"""Predicts the scope of a change from the scopes of similar past commits, and from folders and files whose names serve
as scopes."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice
from math import exp, log

from gateway.connectors.codebase.commits.scope_places import MOST_PATHS, ScopePlaces, plain_name, prefixes, words_of

_OF_BOTS = 0.2  # weight of a bot's commit, because people choose scopes differently
_SHARPNESS = 4  # exponent of the similarity; a higher one favours the most similar commits
_FADING = 500  # a commit counts for about a third after this many newer ones
_NEWEST = 100  # commits that show which scopes are in use now
_LAST, _LAST_OF_TYPE = 20, 30  # commits that show whether scopes are in use now
_PATHS = 20  # paths of a change for which earlier commits are looked up
_MOST_VOTED = 16  # candidates that are taken from the votes; those from places are added
_FEW = 2  # commits; the history of a path with fewer is not used

# Weights of the evidence for a scope, and for no scope. Fitted to commits of public projects.
_FOR_A_SCOPE: Mapping[str, float] = {
    "votes": 0.51,
    "nowadays": 0.44,
    "ever": -1.08,
    "of the type": 0.47,
    "places' past": 0.59,
    "place": 0.33,
    "place of a new scope": 0.59,
    "called like a place": 0.18,
    "a word of a place": 0.3,
    "new": 1.38,
    "count": 0.09,
    "short": 0.55,
}
_FOR_NONE: Mapping[str, float] = {
    "votes": 0.11,
    "nowadays": 0.45,
    "ever": -0.86,
    "of the type": 0.73,
    "places' past": 0.07,
    "last": 0.3,
    "last of the type": 0.15,
    "always": -0.43,
}


@dataclass(frozen=True, slots=True)
class NamedCommit:
    """`scope`: "" for none."""

    type: str
    scope: str
    paths: tuple[str, ...]
    by_bot: bool


class _Shares:
    """The weighted counts of scopes, and their share of the total."""

    def __init__(self) -> None:
        self.counts: defaultdict[str, float] = defaultdict(float)
        self.total = 0.0

    def add(self, name: str, weight: float) -> None:
        self.counts[name] += weight
        self.total += weight

    def of(self, name: str, *, expected: float = 0.0, doubt: float = 0.0) -> float:
        """The share of a scope. `expected`: the share that is assumed before any commit is counted, with the weight of
        `doubt` commits."""
        total = self.total + doubt
        return (self.counts.get(name, 0.0) + doubt * expected) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class _Change:
    """`votes`: of similar commits. `places`: see ScopePlaces.candidates. `pasts`: for each of its paths, the scopes of
    earlier commits. `parts`: plain names of its folders and files. `words`: the words in these names."""

    type: str
    votes: _Shares
    places: Mapping[str, tuple[float, str]]
    pasts: Sequence[_Shares]
    parts: frozenset[str]
    words: frozenset[str]


class ScopeHabits:
    """`commits`: the newest first."""

    def __init__(self, commits: Sequence[NamedCommit]) -> None:
        self._names = [plain_name(commit.scope) for commit in commits]
        self._weights = [_OF_BOTS if commit.by_bot else 1.0 for commit in commits]
        weighed = list(zip(commits, self._names, self._weights, strict=True))
        self._places = ScopePlaces((commit.paths, commit.scope, weight) for commit, _, weight in weighed)
        self._ever, self._nowadays = _Shares(), _Shares()
        self._of_type: defaultdict[str, _Shares] = defaultdict(_Shares)
        self._in: defaultdict[str, _Shares] = defaultdict(_Shares)
        spellings: defaultdict[str, _Shares] = defaultdict(_Shares)
        for age, (commit, name, weight) in enumerate(weighed):
            self._ever.add(name, weight)
            self._of_type[commit.type].add(name, weight)
            spellings[name].add(commit.scope, weight)
            if age < _NEWEST:
                self._nowadays.add(name, weight)
            for each in {each for path in commit.paths[:MOST_PATHS] for each in prefixes(path)}:
                self._in[each].add(name, weight)
        self._spelling = {name: max(of_name.counts, key=of_name.of) for name, of_name in spellings.items()}
        by_people = [commit for commit in commits if not commit.by_bot]
        self._last = _odds_of_none(by_people[:_LAST])
        self._last_of_type = {
            kind: _odds_of_none(islice((commit for commit in by_people if commit.type == kind), _LAST_OF_TYPE))
            for kind in self._of_type
        }

    def scope_of(self, paths: Sequence[str], kind: str, likenesses: Sequence[float]) -> str | None:
        """None for no scope. `kind`: the type of the change. `likenesses`: the similarity of each commit to it, 0 to
        1."""
        change = self._change(paths, kind, likenesses)
        scores = {name: _score(_FOR_A_SCOPE, self._for_scope(name, change)) for name in self._candidates(change)}
        if not scores:
            return None
        best = max(scores, key=lambda name: (scores[name], name))
        if scores[best] <= _score(_FOR_NONE, self._for_none(change)):
            return None
        return self._spelling.get(best) or change.places[best][1]

    def _change(self, paths: Sequence[str], kind: str, likenesses: Sequence[float]) -> _Change:
        parts = {plain_name(part.partition(".")[0]) for path in paths[:MOST_PATHS] for part in path.split("/")}
        return _Change(
            type=kind,
            votes=self._votes(likenesses),
            places=self._places.candidates(paths),
            pasts=tuple(map(self._past_of, paths[:_PATHS])),
            parts=frozenset(parts),
            words=frozenset(words_of(paths)),
        )

    def _votes(self, likenesses: Sequence[float]) -> _Shares:
        votes = _Shares()
        for age, (name, weight, likeness) in enumerate(zip(self._names, self._weights, likenesses, strict=True)):
            if likeness:
                votes.add(name, likeness**_SHARPNESS * weight * exp(-age / _FADING))
        return votes

    def _past_of(self, path: str) -> _Shares:
        """The scopes of earlier commits to the file, or to the nearest folder above it that has enough of them."""
        known = (self._in[each] for each in reversed(prefixes(path)) if each in self._in)
        return next((shares for shares in known if shares.total >= _FEW), _Shares())

    def _candidates(self, change: _Change) -> set[str]:
        voted = nlargest(_MOST_VOTED, change.votes.counts.items(), key=lambda vote: (vote[1], vote[0]))
        return ({name for name, _ in voted} | change.places.keys()) - {""}

    def _for_both(self, name: str, change: _Change) -> dict[str, float]:
        ever = self._ever.of(name)
        of_type = self._of_type[change.type] if change.type in self._of_type else _Shares()
        return {
            "votes": _log(change.votes.of(name)),
            "nowadays": _log(self._nowadays.of(name)),
            "ever": _log(ever),
            "of the type": _log(of_type.of(name, expected=ever, doubt=2)),
            "places' past": _log(sum(past.of(name, doubt=0.5) for past in change.pasts) / len(change.pasts)),
        }

    def _for_scope(self, name: str, change: _Change) -> dict[str, float]:
        place = _odds(change.places[name][0] if name in change.places else 0.0)
        count = self._ever.counts.get(name, 0.0)
        return self._for_both(name, change) | {
            "place": place,
            "place of a new scope": 0.0 if count else place,
            "called like a place": float(name in change.parts),
            "a word of a place": float(name in change.words),
            "new": float(count == 0),
            "count": log(1 + count),
            "short": float(len(name) <= 2),
        }

    def _for_none(self, change: _Change) -> dict[str, float]:
        return self._for_both("", change) | {
            "always": 1.0,
            "last": self._last,
            "last of the type": self._last_of_type.get(change.type, self._last),
        }


def _score(weights: Mapping[str, float], evidence: Mapping[str, float]) -> float:
    return sum(weight * evidence[name] for name, weight in weights.items())


def _odds_of_none(commits: Iterable[NamedCommit]) -> float:
    """The log odds that a commit has no scope."""
    given = [bool(plain_name(commit.scope)) for commit in commits]
    return log((given.count(False) + 1) / (given.count(True) + 1))


def _odds(share: float) -> float:
    """The log odds, bounded."""
    return log((share + 0.02) / (1.02 - min(1.0, share)))


def _log(share: float) -> float:
    return log(share + 0.01)
