"""The words that name a tool: in its name, its title, its upstream path, and the start of its description."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.catalog.plurals import singular
from gateway.connectors.tools.intent import Does, done_by
from gateway.connectors.tools.words import (
    KNOWN_VERBS,
    MINE,
    STOP_WORDS,
    name_words,
    path_words,
    segments,
    words,
)

USUAL_PARTS = 3  # assumed for a tool without an upstream path
LONGEST = 16  # words at the start of a description
_PARTS = re.compile(r"[/.]")
_OPENING = re.compile(r"[^.;:(]*")


@dataclass(frozen=True, slots=True)
class Names:
    """All words are in the singular. `others`: the words of its name, of its title, and of the start of its
    description. `last`: the words of the path's last segment, which say what the tool returns or does. `verbs`: the
    verbs of its names. `parts`: the number of segments of its path; a placeholder counts twice, as it needs an
    argument."""

    path: frozenset[str]
    others: tuple[frozenset[str], ...]
    arguments: frozenset[str]
    last: frozenset[str]
    verbs: frozenset[str]
    does: frozenset[Does]
    is_one: bool  # it is about a single row: its path ends with a placeholder
    parts: int

    @classmethod
    def of(cls, operation: Operation) -> "Names":
        called, title = name_words(operation), words(operation.title)
        route = operation.route.partition(" ")[2]
        named = segments(route) if route else [path_words(operation)]
        opening = _OPENING.match(operation.description)
        last = _ones(_last(named) if route and named else called[1:])
        parts = [part for part in _PARTS.split(route.removesuffix(".json")) if part]
        verbs = {*KNOWN_VERBS.intersection(called), *called[:1], *title[:1]}
        return cls(
            path=_ones(word for segment in named for word in segment),
            others=(_ones(called), _ones(title), _ones(words(opening[0])[:LONGEST] if opening else ())),
            arguments=_ones(word for name in operation.parameters for word in words(name)),
            last=last,
            verbs=frozenset(map(singular, verbs)) | last,
            does=done_by(operation),
            is_one="{" in parts[-1] if parts else operation.kind is Kind.RECORD,
            parts=len(parts) + sum("{" in part for part in parts) or USUAL_PARTS,
        )

    @property
    def each(self) -> tuple[frozenset[str], ...]:
        return (self.path, *self.others)


def _last(named: Sequence[Sequence[str]]) -> list[str]:
    """The words of the last segment, and of the one before a verb: /orders/{id}/cancel."""
    is_verb = KNOWN_VERBS.issuperset(named[-1])
    return [word for segment in named[-2 if is_verb else -1 :] for word in segment]


def _ones(found: Iterable[str]) -> frozenset[str]:
    return frozenset(singular(word) for word in found if word in MINE or word not in STOP_WORDS)
