"""Ranks the fields of an undeclared type by how informative they are: identity, state, dates, amounts first.

Each leaf of the sampled records gets a role by its name and values. The roles take turns, so that a few fields cover
every role.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Any

from context_protection.core.budget import dumps, length
from context_protection.core.inference.groups import measure
from context_protection.core.inference.leaves import FEW, Leaf, leaves
from context_protection.core.inference.vocabulary import (
    AMOUNTS,
    CODES,
    CREATED,
    DATES,
    FACETS,
    FLAGS,
    IDENTITIES,
    KINDS,
    MAIN_DATES,
    MESSAGES,
    NAMES,
    NOT_A_CODE,
    OPEN_AMOUNTS,
    PARTS_OF_AMOUNTS,
    PEOPLE,
    STATE_FLAGS,
    STATES,
    STATUSES,
    SUBTOTALS,
    SUMS,
    UPKEPT,
)
from context_protection.core.name_words import words

VERSION = "version"
LONG_CHARS = 240  # texts that are longer on average are shown in previews, not in rows
# Characters of the longest list of names that is shown, and of the note that replaces a longer list or follows a cut
# text.
CUT_CHARS, NOTE_CHARS = 500, 80
CHOICE_CHARS = 40  # texts that repeat a few values are choices only if they are shorter than this on average
MAX_OF_A_ROLE, MAX_CANDIDATES = 24, 48
CHANCE_CHARS = 8  # equal values of at least this length are no coincidence


class Role(IntEnum):
    """The role of a value in its record, in the order of a preview."""

    IDENTITY = 0
    NAME = 1
    MESSAGE = 2  # the text of a record without a name
    STATE = 3
    RELATION = 4  # the name of a related object: customer.name
    REFERENCE = 5  # the id of a related object
    DATE = 6
    AMOUNT = 7
    CURRENCY = 8
    CHOICE = 9
    PLAIN = 10
    TEXT = 11
    FLAG = 12
    LINK = 13


# The turn of a role's best field, and the distance to each further field of the role. Earlier turns rank higher.
_TURNS: Mapping[Role, tuple[float, float]] = {
    Role.IDENTITY: (0.0, 2.0),
    Role.NAME: (0.1, 1.2),
    Role.MESSAGE: (0.15, 2.0),
    Role.STATE: (0.2, 0.9),
    Role.DATE: (0.3, 0.7),
    Role.AMOUNT: (0.4, 0.85),
    Role.CURRENCY: (0.5, 4.0),
    Role.REFERENCE: (0.6, 0.9),
    Role.RELATION: (0.7, 1.0),
    Role.CHOICE: (1.35, 0.5),
    Role.PLAIN: (1.25, 0.3),
    Role.TEXT: (2.0, 1.0),
    Role.FLAG: (4.0, 1.0),
    Role.LINK: (6.0, 1.0),
}
# Penalties, in turns, for: a field that most records lack or that is always 0; a field of a related object; upstream's
# bookkeeping, such as the date of a change; a second state, of a part of the record; a related object that is not a
# person; a value that all records share; a value such as a hash, which people do not read.
_RARE, _BELOW, _BOOKKEEPING, _FURTHER_STATE, _NO_PERSON, _CONSTANT, _OPAQUE = 2.0, 2.0, 0.8, 0.2, 0.4, 1.5, 2.0
_CODE = 0.15  # how much later the best code's turn is than the best name's
_BELOW_OF: Mapping[Role, float] = {
    Role.RELATION: 0.0,
    Role.MESSAGE: 0.6,
    Role.DATE: 1.0,
    Role.AMOUNT: 0.7,
    Role.CURRENCY: 0.7,
}

_STEPS = (12, 24, 80, LONG_CHARS)  # characters: a date, a timestamp, a line, a text
_EPOCHS = range(10**8, 10**13)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A field that may be shown. `chars`: its average length as compact JSON, including the name."""

    path: str
    role: Role
    chars: float


def _candidate(leaf: Leaf, role: Role) -> Candidate:
    shown = sum(map(_shown_chars, leaf.values)) / len(leaf.values)
    return Candidate(leaf.path, role, shown + length(dumps(leaf.path)) + 2)


def _shown_chars(value: Any) -> int:
    """The length of the value in a preview, as compact JSON. A long value is cut and gets a note."""
    if isinstance(value, list) and measure(value) > CUT_CHARS:
        return NOTE_CHARS
    if isinstance(value, str) and len(value) > LONG_CHARS:
        return length(dumps(value[:LONG_CHARS])) + NOTE_CHARS
    return length(dumps(value))


# -- Roles ------------------------------------------------------------------------------------------


def _role(leaf: Leaf) -> Role:
    return next((role for is_of_role, role in _ROLES if is_of_role(leaf)), Role.PLAIN)


def _is_link(leaf: Leaf) -> bool:
    return leaf.kinds == {"link"}


def _is_text(leaf: Leaf) -> bool:
    return leaf.chars > LONG_CHARS


def _is_flag(leaf: Leaf) -> bool:
    return leaf.kinds == {"flag"} or (len(leaf.words) > 1 and leaf.words[0] in FLAGS)


def _is_identity(leaf: Leaf) -> bool:
    """Whether it is the record's own id: `id`, but neither `bookingId` nor `customer.id`."""
    return _is_reference(leaf) and len(leaf.words) == 1 and not leaf.below


def _is_reference(leaf: Leaf) -> bool:
    return leaf.last in IDENTITIES


def _is_date(leaf: Leaf) -> bool:
    return leaf.kinds == {"date"} or (not DATES.isdisjoint(leaf.words) and _is_epoch(leaf))


def _is_epoch(leaf: Leaf) -> bool:
    return bool(leaf.filled) and all(isinstance(value, int) and value in _EPOCHS for value in leaf.filled)


def _is_state(leaf: Leaf) -> bool:
    """Whether it is a state, or the name of one: `status`, `StageName`, `status.name`."""
    return leaf.last in STATES or (leaf.last in NAMES and _noun(leaf) in STATES)


def _noun(leaf: Leaf) -> str:
    """The subject of a name field: "stage" for `StageName`, "status" for `status.name` and `status`."""
    nouns = [each for each in (*leaf.holder, *leaf.words) if each not in NAMES and each != "display"]
    return nouns[-1] if nouns else ""


def _is_currency(leaf: Leaf) -> bool:
    return "currency" in leaf.words and "number" not in leaf.kinds


def _is_relation(leaf: Leaf) -> bool:
    return leaf.below and _is_name(leaf)


def _is_name(leaf: Leaf) -> bool:
    return leaf.last in NAMES or _is_code(leaf)


def _is_code(leaf: Leaf) -> bool:
    """Whether the field is a code: `number` and `orderNumber: "A-17"` identify; `bedroomsNumber: 4` is a count."""
    if leaf.last == VERSION:  # only a release's version is a code; others count changes or are the API's
        return leaf.words == (VERSION,) and leaf.kinds <= {"text", "opaque"} and not leaf.is_constant
    counts = leaf.kinds == {"number"} and len(leaf.words) > 1 and all(map(_may_be_count, leaf.filled))
    return leaf.last in CODES and NOT_A_CODE.isdisjoint(leaf.words) and not counts


def _may_be_count(value: Any) -> bool:
    return isinstance(value, (int, float)) and value < 1000  # only the first values are surely numbers


def _is_amount(leaf: Leaf) -> bool:
    """Whether it is a number whose name means money, such as `totalPrice` or `total`, but not `totalWeight`."""
    named = set(leaf.words) if leaf.last in SUMS else set(leaf.words) - SUMS
    return leaf.kinds <= {"number", "digits"} and not named.isdisjoint(AMOUNTS | PARTS_OF_AMOUNTS)


def _is_choice(leaf: Leaf) -> bool:
    """Whether it is an enumeration or a text field that repeats a few values."""
    short = leaf.kinds == {"text"} and leaf.chars < CHOICE_CHARS
    repeats = short and len(leaf.filled) >= FEW and 1 < leaf.distinct <= len(leaf.filled) // 4
    return leaf.enumerated or repeats


# The first match is the leaf's role.
_ROLES: tuple[tuple[Callable[[Leaf], bool], Role], ...] = (
    (_is_link, Role.LINK),
    (_is_text, Role.TEXT),
    (_is_flag, Role.FLAG),
    (_is_identity, Role.IDENTITY),
    (_is_reference, Role.REFERENCE),
    (_is_date, Role.DATE),
    (_is_state, Role.STATE),
    (_is_currency, Role.CURRENCY),
    (_is_relation, Role.RELATION),
    (_is_name, Role.NAME),
    (_is_amount, Role.AMOUNT),
    (_is_choice, Role.CHOICE),
)


def _sort_key(leaf: Leaf, role: Role) -> tuple[Any, ...]:
    """A sort key within a role; the smallest is the best. Ties stay in order of appearance."""
    general = (not leaf.required, leaf.is_rare, leaf.is_blank, leaf.below, leaf.path.count("."))
    match role:
        case Role.IDENTITY:
            return (leaf.last != "id", *general)
        case Role.RELATION:
            no_person = _is_no_person(leaf)
            return (
                no_person,
                *general,
                leaf.last not in NAMES,
                len(leaf.words) > 1,
                not _identifies(leaf),
                -leaf.central,
            )
        case Role.NAME if leaf.last in CODES:
            return (*general, CODES.index(leaf.last), len(leaf.words) > 1, not _identifies(leaf), -leaf.central)
        case Role.NAME:
            return (*general, len(leaf.words) > 1, leaf.last not in NAMES, not _identifies(leaf), -leaf.central)
        case Role.STATE:
            return (*general, leaf.is_constant, len(leaf.words) > 1, _noun(leaf) not in STATUSES, _size(leaf))
        case Role.REFERENCE:
            return (*general, leaf.is_constant, "number" not in leaf.kinds, _size(leaf))
        case Role.DATE:
            return (*general[:-1], _date_rank(leaf), general[-1], _size(leaf))
        case Role.AMOUNT:
            is_part = leaf.below and AMOUNTS.isdisjoint(words(leaf.path.partition(".")[0]))
            is_further = leaf.last not in AMOUNTS and OPEN_AMOUNTS.isdisjoint(leaf.words)
            size = len(leaf.words) - len(SUMS.intersection(leaf.words))
            return (*general, is_further, is_part, not SUBTOTALS.isdisjoint(leaf.words), size)
        case Role.PLAIN | Role.CHOICE:
            return (*general, FACETS.isdisjoint(leaf.words), leaf.is_constant, len(leaf.words) > 1, _size(leaf))
        case _:
            return (*general, len(leaf.words), _size(leaf))


def _identifies(leaf: Leaf) -> bool:
    return len(leaf.filled) < FEW or leaf.distinct > 0.8 * len(leaf.filled)


def _date_rank(leaf: Leaf) -> int:
    """The rank of a date: 0 if it is about the object itself, 1 for the record's creation, 2 for any other date, 3 for
    a change of the record."""
    if not UPKEPT.isdisjoint(leaf.words):
        return 3
    if not CREATED.isdisjoint(leaf.words):
        return 1
    return 0 if MAIN_DATES.issuperset(leaf.words) else 2


def _is_no_person(leaf: Leaf) -> bool:
    return PEOPLE.isdisjoint(words(leaf.path.partition(".")[0])) and PEOPLE.isdisjoint(words(leaf.path))


def _size(leaf: Leaf) -> int:
    """The length in steps, so that fields of similar length stay in order of appearance."""
    return sum(leaf.chars > step for step in _STEPS)


# -- Turns ------------------------------------------------------------------------------------------


def ranked(
    records: Sequence[Mapping[str, Any]], required: frozenset[str], enumerations: frozenset[str]
) -> list[Candidate]:
    """The candidates, best first, some of each role. Empty fields are used only if all fields are empty. If two fields
    have the same values, and not by coincidence, only the better one is used."""
    found = list(leaves(records, required, enumerations))
    found = [leaf for leaf in found if leaf.filled] or found
    by_role = _by_role(found)
    in_turn = [
        (_turn(leaf, role, index) + (_CODE if is_code else 0), role, leaf)
        for (role, is_code), leaves in by_role.items()
        for index, leaf in enumerate(_best(leaves, role))
    ]
    in_turn.sort(key=lambda each: each[:2])
    roles = {leaf.path: role for _, role, leaf in in_turn}
    best = islice(_without_copies(leaf for _, _, leaf in in_turn), MAX_CANDIDATES)
    return [_candidate(leaf, roles[leaf.path]) for leaf in best]


def _by_role(found: Sequence[Leaf]) -> dict[tuple[Role, bool], list[Leaf]]:
    """The leaves by role and, for names, by whether they are codes or numbers: people look for both kinds."""
    by_role: dict[tuple[Role, bool], list[Leaf]] = {}
    for leaf in found:
        role = _role(leaf)
        by_role.setdefault((role, role is Role.NAME and leaf.last not in NAMES), []).append(leaf)
    identities = by_role.get((Role.IDENTITY, False), [])
    if any(leaf.last == "id" for leaf in identities):  # people call the record by its key, which stands beside the id
        by_role[Role.IDENTITY, False] = [leaf for leaf in identities if leaf.last != "key"]
        by_role.setdefault((Role.NAME, True), []).extend(leaf for leaf in identities if leaf.last == "key")
    references = by_role.get((Role.REFERENCE, False), [])
    if (Role.IDENTITY, False) not in by_role and (own := _own_id(references, found)):
        references.remove(own)
        by_role[Role.IDENTITY, False] = [own]
    if not any(_is_own_status(leaf) for leaf in by_role.get((Role.STATE, False), ())):
        flags = by_role.get((Role.FLAG, False), [])
        state_flags = [leaf for leaf in flags if leaf.last in STATE_FLAGS and not leaf.below]
        by_role[Role.FLAG, False] = [leaf for leaf in flags if leaf not in state_flags]
        by_role.setdefault((Role.STATE, False), []).extend(state_flags)
    if not any(not leaf.below and not leaf.is_rare for leaf in by_role.get((Role.NAME, False), ())):
        for role in (Role.TEXT, Role.PLAIN):
            messages = [
                leaf
                for leaf in by_role.get((role, False), ())
                if leaf.last in MESSAGES and NOT_A_CODE.isdisjoint(leaf.words)
            ]
            by_role[role, False] = [leaf for leaf in by_role.get((role, False), ()) if leaf not in messages]
            by_role.setdefault((Role.MESSAGE, False), []).extend(messages)
    return by_role


def _is_own_status(leaf: Leaf) -> bool:
    """Whether it is the status of the record, and not of somebody in it (`assignee_status`)."""
    return leaf.last in STATUSES and not leaf.below and PEOPLE.isdisjoint(leaf.words)


def _own_id(references: Iterable[Leaf], found: Sequence[Leaf]) -> Leaf | None:
    """The id of a record without an `id`, such as a booking's `bookingId`; None if most records lack every id. Prefers
    ids that differ between records, then those whose first words most other fields share (`bookingNumber`), then the
    earliest."""
    own = [leaf for leaf in references if not leaf.below and not leaf.is_rare]
    noun = {leaf.path: leaf.words[:-1] for leaf in own}
    alike = {path: sum(each.words[: len(words)] == words for each in found) for path, words in noun.items()}
    return max(own, key=lambda leaf: (_identifies(leaf), alike[leaf.path]), default=None)


def _best(leaves: list[Leaf], role: Role) -> list[Leaf]:
    leaves.sort(key=lambda leaf: _sort_key(leaf, role))
    return list(islice(_without_copies(leaves), MAX_OF_A_ROLE))


def _turn(leaf: Leaf, role: Role, index: int) -> float:
    first, step = _TURNS[role]
    turn = first + index * step
    if role is Role.IDENTITY:
        return turn
    turn += _RARE * (leaf.is_rare or leaf.is_blank) + _BELOW_OF.get(role, _BELOW) * leaf.below
    turn += _CONSTANT * (leaf.is_constant and _is_uninformative_if_constant(leaf, role))
    turn += _OPAQUE * (role is Role.PLAIN and leaf.kinds == {"opaque"} and FACETS.isdisjoint(leaf.words))
    if role is Role.DATE:
        return turn + _BOOKKEEPING * (_date_rank(leaf) > 1)
    if role is Role.RELATION:
        return turn + _NO_PERSON * _is_no_person(leaf)
    if role is Role.REFERENCE:
        return turn + _BOOKKEEPING * ("number" not in leaf.kinds)
    return turn + _FURTHER_STATE * (role is Role.STATE and index > 0 and len(leaf.words) > 1)


def _is_uninformative_if_constant(leaf: Leaf, role: Role) -> bool:
    """Whether the field tells nothing if all records have the same value. A status, a person or a city may be the same
    because the caller asked for it."""
    if role is Role.STATE:
        return leaf.last in KINDS
    return role in (Role.MESSAGE, Role.PLAIN, Role.CHOICE) and FACETS.isdisjoint(leaf.words)


def _without_copies(leaves: Iterable[Leaf]) -> Iterator[Leaf]:
    """Omits leaves that repeat the values of an earlier one, except by coincidence."""
    seen: dict[tuple[str, ...], list[Leaf]] = {}
    for leaf in leaves:
        same = seen.setdefault(tuple(map(str, leaf.values)), [])
        if not any(_is_copy(leaf, other) for other in same):
            same.append(leaf)
            yield leaf


def _is_copy(leaf: Leaf, other: Leaf) -> bool:
    """Whether equal values are no coincidence: they vary across records or are long, or one name contains the other."""
    if any(len(str(value)) >= CHANCE_CHARS for value in leaf.filled[:1]) or leaf.distinct > 2:
        return True
    mine, others = set(leaf.words), set(other.words)
    return mine <= others or others <= mine
