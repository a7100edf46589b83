"""The type of a change: what its lines speak for, blended with what the project's authors called similar changes."""

from math import exp, log

from gateway.connectors.codebase.commits.facts import ChangeFacts
from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.type_evidence import evidence_of
from gateway.connectors.codebase.commits.type_weights import SHARES, TYPES, WEIGHTS

# Found by trial on projects that the weights were not fitted to.
_HABIT, _SHARE, _FLOOR = 1.5, 0.25, 0.01
_FEW = 30  # a shorter past counts for less


def type_of(facts: ChangeFacts, habits: Habits | None = None) -> str:
    likely = type_chances(facts)
    if habits is None or not len(habits):
        return max(TYPES, key=lambda each: likely[each])
    votes = habits.type_votes([file.change.path for file in facts.files])
    trust = len(habits) / (len(habits) + _FEW)
    usual = dict(zip(TYPES, SHARES, strict=True))

    def score(each: str) -> float:
        habit = _HABIT * log(votes[each] + _FLOOR)
        share = _SHARE * (log(habits.shares[each] + _FLOOR) - log(usual[each] + _FLOOR))
        return log(max(likely[each], 1e-3)) + trust * (habit + share)

    return max(TYPES, key=score)


def type_chances(facts: ChangeFacts) -> dict[str, float]:
    """The chance of each type from the diff alone, adding up to 1."""
    found = [(strength, WEIGHTS[name]) for name, strength in evidence_of(facts).items() if name in WEIGHTS]
    scores = [sum(strength * weights[at] for strength, weights in found) for at in range(len(TYPES))]
    highest = max(scores)
    powers = [exp(score - highest) for score in scores]
    return {each: power / sum(powers) for each, power in zip(TYPES, powers, strict=True)}
