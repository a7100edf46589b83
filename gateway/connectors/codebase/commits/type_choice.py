"""The type of a change: the evidence in the change itself, combined with the types that the project's authors gave to
similar changes."""

from math import exp, log

from gateway.connectors.codebase.commits.facts import ChangeFacts
from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.type_evidence import evidence_of
from gateway.connectors.codebase.commits.type_weights import TYPES, WEIGHTS

# How the evidence is combined. Fitted to other projects than the weights.
_LINES, _VOTES, _LEANINGS, _SHARE, _FLOOR = 0.59, 0.5, 0.11, 0.32, 0.01
_BIASES = (0.08, -0.5, 0.0, -0.33, -0.24, -0.44, 0.75, 0.03, 0.68, 0.37)  # in the order of TYPES
_FEW = 10  # with this many past commits, the project's history counts for half


def type_of(facts: ChangeFacts, habits: Habits | None = None) -> str:
    likely = type_chances(facts)
    if habits is None or not len(habits):
        return max(TYPES, key=lambda each: likely[each])
    paths = [file.change.path for file in facts.files]
    votes, leanings = habits.type_votes(paths), habits.type_leanings(paths)
    trust = len(habits) / (len(habits) + _FEW)

    def score(each: str, bias: float) -> float:
        alone = log(max(likely[each], 1e-4))
        habit = _VOTES * log(votes[each] + _FLOOR) + _LEANINGS * leanings[each]
        return (1 - trust) * alone + trust * (
            _LINES * alone + habit + _SHARE * log(habits.shares[each] + _FLOOR) + bias
        )

    return max(zip(TYPES, _BIASES, strict=True), key=lambda each: score(*each))[0]


def type_chances(facts: ChangeFacts) -> dict[str, float]:
    """The chance of each type from the diff alone, adding up to 1."""
    found = [(strength, WEIGHTS[name]) for name, strength in evidence_of(facts).items() if name in WEIGHTS]
    scores = [sum(strength * weights[at] for strength, weights in found) for at in range(len(TYPES))]
    highest = max(scores)
    powers = [exp(score - highest) for score in scores]
    return {each: power / sum(powers) for each, power in zip(TYPES, powers, strict=True)}
