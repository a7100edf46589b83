"""How a project's authors named earlier changes to the same places: a vote of the past commits with similar paths."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log, log2

from gateway.connectors.codebase.commits.path_kinds import kind_of
from gateway.connectors.codebase.commits.type_weights import TYPES
from gateway.connectors.codebase.git.history import PastCommit

_PAST = 1000  # commits with a type, newest first; older ones add nothing
_PATHS = 60  # a commit of more files tells little of any of them
_SHARPNESS = 4  # how much more a similar commit counts than a less similar one
_SUBJECT = re.compile(r"([A-Za-z]+)(?:\(([^)]*)\))?!?: ")
_SPELLINGS = {"tests": "test", "doc": "docs", "feature": "feat"}


@dataclass(frozen=True, slots=True)
class _Case:
    type: str
    scope: str | None
    marks: frozenset[str]
    weight: float = 0.0


class Habits:
    """Made once for many questions. `commits`: newest first, read no further than is needed."""

    def __init__(self, commits: Iterable[PastCommit]) -> None:
        cases = list(islice(filter(None, map(_case, commits)), _PAST))
        seen = Counter(mark for case in cases for mark in case.marks)
        self._worth = {mark: log((len(cases) + 1) / (count + 0.5)) for mark, count in seen.items()}
        self._unseen = log((len(cases) + 1) / 0.5)
        self._cases = [_Case(case.type, case.scope, case.marks, self._weight(case.marks)) for case in cases]
        types = Counter(case.type for case in cases)
        self.shares = {each: (types[each] + 0.5) / (len(cases) + len(TYPES) / 2) for each in TYPES}
        self._scopes = _ScopesByPlace(self._cases)

    def __len__(self) -> int:
        return len(self._cases)

    def type_votes(self, paths: Sequence[str]) -> dict[str, float]:
        """The share of each type among the similar commits, adding up to 1."""
        votes = self._votes(paths)
        by_type: defaultdict[str, float] = defaultdict(float)
        for case, vote in votes:
            by_type[case.type] += vote
        total = sum(by_type.values())
        return {each: (by_type[each] + 0.02 * self.shares[each]) / (total + 0.02) for each in TYPES}

    def scope_of(self, paths: Sequence[str]) -> str | None:
        """The scope that the authors would give, None where they would give none."""
        votes: dict[str | None, float] = {}
        for case, vote in self._votes(paths):
            votes[case.scope] = votes.get(case.scope, 0.0) + vote
        total = sum(votes.values()) or 1.0
        by_place = self._scopes.logs(paths)
        scores = {
            scope: by_place.get(scope, -60.0) + log(votes.get(scope, 0.0) / total + 0.005)
            for scope in (by_place.keys() | votes.keys())
        }
        best = max((scope for scope in scores if scope), key=lambda scope: (scores[scope], scope), default=None)
        return best if best and scores[best] > scores.get(None, float("-inf")) + _RELUCTANCE else None

    def _votes(self, paths: Sequence[str]) -> list[tuple[_Case, float]]:
        marks = _marks(paths)
        weight = self._weight(marks)
        found: list[tuple[_Case, float]] = []
        for case in self._cases:
            common = self._weight(marks & case.marks)
            if common > 0:
                found.append((case, (common / (weight + case.weight - common)) ** _SHARPNESS))
        return found

    def _weight(self, marks: frozenset[str]) -> float:
        return sum(self._worth.get(mark, self._unseen) for mark in marks)


_RELUCTANCE = -0.3  # none is the better answer where both are about as likely


class _ScopesByPlace:
    """Naive Bayes: how likely the places of a change are under each scope that was used more than once."""

    def __init__(self, cases: list[_Case]) -> None:
        self._uses = Counter(case.scope for case in cases)
        self._places: dict[str | None, Counter[str]] = {}
        for case in cases:
            self._places.setdefault(case.scope, Counter()).update(case.marks)
        self._known = {mark for case in cases for mark in case.marks}
        self._total = len(cases) or 1

    def logs(self, paths: Sequence[str]) -> Mapping[str | None, float]:
        """The scopes' scores, comparable with each other; one scope is None."""
        places = [place for place in prefixes(paths) if place in self._known]
        evenly = 3 / max(3, len(places))  # the prefixes of one path are no independent evidence
        return {
            scope: log(uses / self._total)
            + evenly * sum(log((self._places[scope][place] + 0.05) / (uses + 1)) for place in places)
            for scope, uses in self._uses.items()
            if uses > 1 or scope is None
        }


def _case(commit: PastCommit) -> _Case | None:
    found = None if commit.merge or not commit.paths else _SUBJECT.match(commit.subject)
    if not found:
        return None
    named = found[1].lower()
    kind = _SPELLINGS.get(named, named)
    return _Case(kind, found[2] or None, _marks(commit.paths)) if kind in TYPES else None


def prefixes(paths: Sequence[str]) -> set[str]:
    """Every folder of the paths, and the paths."""
    parts = [path.split("/") for path in paths[:_PATHS]]
    return {"/".join(each[: end + 1]) for each in parts for end in range(len(each))}


def _marks(paths: Sequence[str]) -> frozenset[str]:
    """The features by which commits are compared: folders, names, endings and kinds of files, their rough number."""
    names = [path.rpartition("/")[2] for path in paths[:_PATHS]]
    kinds = {kind_of(path).value for path in paths[:_PATHS]}
    return frozenset(
        prefixes(paths)
        | {f"name:{name}" for name in names}
        | {f"*.{name.rpartition('.')[2]}" for name in names}
        | {f"kind:{kind}" for kind in kinds}
        | {f"kinds:{'+'.join(sorted(kinds))}", f"files:{min(3, int(log2(len(paths) + 1)))}"}
    )
