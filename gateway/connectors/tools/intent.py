"""The intent of queries and tools: to read, create, update, delete, or something else."""

from collections.abc import Iterable, Mapping
from enum import Enum, auto

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.catalog.plurals import singular
from gateway.connectors.tools.synonyms import CHANGING, DELETING, LOOKING, MAKING, OTHER_VERBS, STOPPING
from gateway.connectors.tools.words import KNOWN_VERBS, name_words, segments


class Does(Enum):
    """What a tool does, or what a query asks for."""

    READ = auto()
    CREATE = auto()
    UPDATE = auto()
    DELETE = auto()
    OTHER = auto()


def _all(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*groups)


_VERBS: Mapping[Does, frozenset[str]] = {
    Does.READ: _all(LOOKING),
    Does.CREATE: _all(MAKING),
    Does.UPDATE: _all(CHANGING),
    Does.DELETE: _all([*DELETING, *STOPPING]),
    Does.OTHER: _all(OTHER_VERBS),
}

# How well a tool suits a query: 1 if the query asks for what the tool does, else a value from 0 to 1 by both intents.
_SUITS: Mapping[Does, Mapping[Does, float]] = {
    Does.READ: {Does.CREATE: 0.2, Does.UPDATE: 0.1, Does.DELETE: 0.0, Does.OTHER: 0.3},
    Does.CREATE: {Does.READ: 0.1, Does.UPDATE: 0.6, Does.DELETE: 0.0, Does.OTHER: 0.7},
    Does.UPDATE: {Does.READ: 0.1, Does.CREATE: 0.6, Does.DELETE: 0.1, Does.OTHER: 0.6},
    Does.DELETE: {Does.READ: 0.0, Does.CREATE: 0.1, Does.UPDATE: 0.4, Does.OTHER: 0.5},
    Does.OTHER: {Does.READ: 0.1, Does.CREATE: 0.8, Does.UPDATE: 0.8, Does.DELETE: 0.3},
}


def asked_by(verb: str) -> frozenset[Does]:
    """The intents that a query with this verb can have."""
    return frozenset(does for does, verbs in _VERBS.items() if verb in verbs) or frozenset({Does.OTHER})


def done_by(operation: Operation) -> frozenset[Does]:
    """The intents of a tool, by its method and the verb of its name."""
    method, _, path = operation.route.partition(" ")
    if operation.kind is not Kind.ACTION:
        return frozenset({Does.READ})
    if method == "DELETE":
        return frozenset({Does.DELETE})
    first = name_words(operation)[:1]
    named = asked_by(first[0]) if first and first[0] in KNOWN_VERBS else frozenset()
    if method in ("PUT", "PATCH"):
        return frozenset({Does.UPDATE}) | (named - {Does.READ})
    return named or _by_path(path)


def _by_path(path: str) -> frozenset[Does]:
    """The intents of a POST: it creates in a collection, or does something with one of its members."""
    last = [word for each in segments(path)[-1:] for word in each[-1:]]
    many = bool(last) and singular(last[0]) != last[0]
    return frozenset({Does.CREATE} if many else {Does.CREATE, Does.OTHER})


def suits(asked: frozenset[Does], done: frozenset[Does]) -> float:
    """The degree to which a tool suits what is asked, from 0 to 1."""
    return max((1.0 if one is other else _SUITS[one][other] for one in asked for other in done), default=0.0)
