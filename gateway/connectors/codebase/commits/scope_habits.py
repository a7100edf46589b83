"""Which scopes a project's authors gave: by the scopes of similar commits, and by folders whose names are scopes."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import exp, log

from gateway.connectors.codebase.commits.scope_places import MOST_PATHS, ScopePlaces, plain_name

_SHARPNESS = 4  # how much more a similar commit counts than a less similar one
_FADING = 500  # commits after which one counts for a third
_NEWEST = 100  # commits that tell whether scopes are given nowadays
_SAME_NAME = 2.0  # how much more a vote counts for a scope that is called like a folder or a file of the change
_OF_A_PLACE = 2.0  # votes of a folder whose children always name the scope


class ScopeHabits:
    """`commits`: type, scope ("" for none) and paths of each, the newest first."""

    def __init__(self, commits: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        self._names = [plain_name(scope) for _, scope, _ in commits]
        self._places = ScopePlaces((paths, scope) for _, scope, paths in commits)
        spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
        of_type: defaultdict[str, list[str]] = defaultdict(list)
        for (kind, scope, _), name in zip(commits, self._names, strict=True):
            spellings[name][scope] += 1
            of_type[kind].append(name)
        self._spelling = {name: counts.most_common(1)[0][0] for name, counts in spellings.items()}
        self._given, self._given_now = _given(self._names), _given(self._names[:_NEWEST])
        self._given_of_type = {
            kind: (_given(names) * len(names) + 2 * self._given) / (len(names) + 2) for kind, names in of_type.items()
        }

    def scope_of(self, paths: Sequence[str], kind: str, likenesses: Sequence[float]) -> str | None:
        """`kind`: the type of the change. `likenesses`: of each commit to it, 0 to 1."""
        votes = self._votes(likenesses)
        none = votes.pop("", 0.0)
        places = self._places.candidates(paths)
        scores = _scores(votes, paths, places)
        if not scores:
            return None
        best = max(scores, key=lambda name: (scores[name], name))
        sureness = max((sure for place, sure in places.items() if plain_name(place) == best), default=0.0)
        # The chance that the best is right, against the chance that the authors would give none: fitted, as the weights
        # of the types are.
        chance = (
            0.71 * _odds(1 - none)
            + 0.32 * _odds(scores[best] / sum(scores.values()))
            + 0.24 * _odds(sureness)
            + 0.47 * _odds(self._given_now)
            - 0.63 * _odds(self._given)
            + 0.33 * _odds(self._given_of_type.get(kind, self._given))
            + 0.58 * max(likenesses)
            - 0.04
        )
        if chance <= 0:
            return None
        return self._spelling.get(best) or next(place for place in places if plain_name(place) == best)

    def _votes(self, likenesses: Sequence[float]) -> dict[str, float]:
        """The share of each name among the similar commits; that of "" is for none."""
        votes: defaultdict[str, float] = defaultdict(float)
        for age, (name, likeness) in enumerate(zip(self._names, likenesses, strict=True)):
            votes[name] += likeness**_SHARPNESS * exp(-age / _FADING)
        total = sum(votes.values())
        return {name: vote / total for name, vote in votes.items() if vote}


def _scores(votes: Mapping[str, float], paths: Sequence[str], places: Mapping[str, float]) -> dict[str, float]:
    parts = {plain_name(part.partition(".")[0]) for path in paths[:MOST_PATHS] for part in path.split("/")}
    found = {name: vote * (_SAME_NAME if name in parts else 1) for name, vote in votes.items()}
    for place, sureness in places.items():
        name = plain_name(place)
        found[name] = found.get(name, 0.0) + _OF_A_PLACE * sureness
    return found


def _given(names: Sequence[str]) -> float:
    """The share of commits that have a scope."""
    return sum(map(bool, names)) / max(1, len(names))


def _odds(share: float) -> float:
    """Their logarithm, bounded."""
    return log((share + 0.02) / (1.02 - share))
