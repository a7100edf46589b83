"""Which type and scope a project's authors would give to a change, as in `fix(parser): …`: past commits that state a
type vote on both. The more similar a commit's paths are to those of the change, the more its vote counts."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import log, log2, sqrt

from gateway.connectors.codebase.commits.scope_habits import NamedCommit, ScopeHabits
from gateway.connectors.codebase.commits.scope_places import MOST_PATHS, prefixes
from gateway.connectors.codebase.commits.type_weights import TYPES
from gateway.connectors.codebase.git.past_commit import PastCommit
from gateway.connectors.codebase.tree.path_kinds import kind_of

_PAST = 2_000  # commits with a type, newest first; older ones add little
_SHARPNESS = 4  # exponent of the similarity; a higher one favours the most similar commits
_SUBJECT = re.compile(r"([A-Za-z]+)(?:\(([^)]*)\))?!?: ")
_SPELLINGS = {"tests": "test", "doc": "docs", "feature": "feat"}


@dataclass(frozen=True, slots=True)
class _Case:
    named: NamedCommit
    marks: frozenset[str]
    weight: float = 0.0


class Habits:
    """Built once, and used for any number of changes. `commits`: newest first; read only as far as needed. `shares`:
    the share of each type among all past commits, adding up to 1."""

    def __init__(self, commits: Iterable[PastCommit]) -> None:
        cases = list(islice(filter(None, map(_case, commits)), _PAST))
        seen = Counter(mark for case in cases for mark in case.marks)
        # As in text search (inverse document frequency): the fewer commits have a feature, the more it weighs.
        self._worth = {mark: log((len(cases) + 1) / (count + 0.5)) for mark, count in seen.items()}
        self._unseen = log((len(cases) + 1) / 0.5)
        self._cases = [replace(case, weight=self._weight(case.marks)) for case in cases]
        self._types = Counter(case.named.type for case in cases)
        self.shares = {each: (self._types[each] + 0.5) / (len(cases) + len(TYPES) / 2) for each in TYPES}
        self._types_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for case in cases:
            for mark in case.marks:
                self._types_of[mark][case.named.type] += 1
        self._scopes = ScopeHabits([case.named for case in cases])

    def __len__(self) -> int:
        return len(self._cases)

    def type_votes(self, paths: Sequence[str]) -> dict[str, float]:
        """The share of each type among the similar commits, adding up to 1."""
        by_type: defaultdict[str, float] = defaultdict(float)
        for case, likeness in zip(self._cases, self._likenesses(paths), strict=True):
            by_type[case.named.type] += likeness**_SHARPNESS
        total = sum(by_type.values())
        return {each: (by_type[each] + 0.02 * self.shares[each]) / (total + 0.02) for each in TYPES}

    def type_leanings(self, paths: Sequence[str]) -> dict[str, float]:
        """How much the change's features speak for each type: above 0 if commits of the type have them more often than
        others do."""
        known = [self._types_of[mark] for mark in sorted(_marks(paths)) if mark in self._types_of]
        return {each: self._leaning(each, known) / sqrt(max(1, len(known))) for each in TYPES}

    def _leaning(self, kind: str, known: Sequence[Counter[str]]) -> float:
        share, count = self.shares[kind], self._types[kind]
        return sum(
            log((types[kind] + 2 * share) / (count + 2)) - log((types.total() + 2) / (len(self) + 2)) for types in known
        )

    def scope_of(self, paths: Sequence[str], kind: str) -> str | None:
        """The scope that the authors would give a change of this type; None if they would give none, or if no past
        commit has a type."""
        return self._scopes.scope_of(paths, kind, self._likenesses(paths)) if self._cases else None

    def _likenesses(self, paths: Sequence[str]) -> list[float]:
        """How similar each earlier commit is to a change of these paths, 0 to 1."""
        marks = _marks(paths)
        weight = self._weight(marks)
        return [
            common / (weight + case.weight - common) if (common := self._weight(marks & case.marks)) > 0 else 0.0
            for case in self._cases
        ]

    def _weight(self, marks: frozenset[str]) -> float:
        return sum(self._worth.get(mark, self._unseen) for mark in marks)


def _case(commit: PastCommit) -> _Case | None:
    """None for a merge, and for a commit without paths or without a known type."""
    found = None if commit.merge or not commit.paths else _SUBJECT.match(commit.subject)
    if not found:
        return None
    named = found[1].lower()
    kind = _SPELLINGS.get(named, named)
    if kind not in TYPES:
        return None
    return _Case(NamedCommit(kind, found[2] or "", commit.paths, commit.by_bot), _marks(commit.paths))


def _marks(paths: Sequence[str]) -> frozenset[str]:
    """The features by which commits are compared: folders, file names, file endings, kinds of files, and the rough
    number of files."""
    names = [path.rpartition("/")[2] for path in paths[:MOST_PATHS]]
    kinds = {kind_of(path).value for path in paths[:MOST_PATHS]}
    return frozenset(
        {each for path in paths[:MOST_PATHS] for each in prefixes(path)}
        | {f"name:{name}" for name in names}
        | {f"*.{name.rpartition('.')[2]}" for name in names}
        | {f"kind:{kind}" for kind in kinds}
        | {f"kinds:{'+'.join(sorted(kinds))}", f"files:{min(3, int(log2(len(paths) + 1)))}"}
    )
