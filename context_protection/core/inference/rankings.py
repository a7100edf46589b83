"""Ranks the fields of an undeclared type by how informative they are: identity, state, dates, amounts first.

Leaves of some records get roles by name and value; the roles take turns, so that a few fields cover every role.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import Any

from context_protection.core.budget import dumps, length
from context_protection.core.inference.groups import measure
from context_protection.core.inference.names import LONGEST, askable, word_set, words
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import NOTHING

LONG_CHARS = 240  # a text that is longer on average is shown in a preview, not in a row
CUT_CHARS, NOTE_CHARS = 500, 80  # a longer list of names is not shown; the note in its place, or after a cut text
SHORT_LIST = 5  # the most elements of a list whose names are shown
MOST_BELOW = 20  # names that are examined in an object within the record
CHOICE_CHARS = 40  # an enumeration's values are shorter
MOST_BELOW_IN_ALL = 60  # names that are examined in all objects within the record
MOST_PATHS = 250  # paths that are examined
MOST_OF_A_ROLE, MOST_CANDIDATES = 24, 48
CHANCE_CHARS = 8  # values of this length or more are not equal by chance
FEW = 8  # records; fewer do not show how often values repeat


class Role(IntEnum):
    """The role of a value in its record, in the order of a preview."""

    IDENTITY = 0
    NAME = 1
    STATE = 2
    RELATION = 3  # the name of another thing: customer.name
    REFERENCE = 4  # the id of another thing
    DATE = 5
    AMOUNT = 6
    CURRENCY = 7
    CHOICE = 8
    PLAIN = 9
    TEXT = 10
    FLAG = 11
    LINK = 12


# The turn of a role's best field, and the distance to each further field of the role. The earliest turns win.
_TURNS: Mapping[Role, tuple[float, float]] = {
    Role.IDENTITY: (0.0, 2.0),
    Role.NAME: (0.1, 1.2),
    Role.STATE: (0.2, 0.9),
    Role.DATE: (0.3, 0.7),
    Role.AMOUNT: (0.4, 1.9),
    Role.CURRENCY: (0.5, 4.0),
    Role.REFERENCE: (0.6, 0.9),
    Role.RELATION: (0.7, 1.0),
    Role.CHOICE: (1.1, 0.4),
    Role.PLAIN: (1.25, 0.3),
    Role.TEXT: (2.0, 1.0),
    Role.FLAG: (4.0, 1.0),
    Role.LINK: (6.0, 1.0),
}
# Added turns: for a field that most records lack or that is always 0, for a nested field, for upstream's bookkeeping
# (dates of changes), for a further state that belongs to a part of the record.
_RARE, _BELOW, _UPKEEP, _FURTHER_STATE = 2.0, 2.0, 0.8, 0.2
_BELOW_OF: Mapping[Role, float] = {Role.RELATION: 0.0, Role.AMOUNT: 0.7, Role.CURRENCY: 0.7}

_IDENTITIES = word_set("id uuid guid key uid sid oid")
_NAMES = word_set("name title label subject headline login username handle symbol")
_CODES = word_set("number code email sku slug reference ref no nr")
_STATES = word_set("status state type kind stage phase category role priority severity")
_STATUSES = word_set("status state")
_DATES = word_set("date at on time created updated modified inserted start end since until due expires timestamp")
_CREATED = word_set("created inserted")
_UPKEPT = word_set("updated modified changed synced indexed pushed activity processed closed merged published")
_AMOUNTS = word_set("price amount total subtotal cost sum value revenue salary")
_PARTS_OF_AMOUNTS = word_set("balance fee tax discount discounts paid payout due")
_SUMS = word_set("total grand")
_NOT_A_CODE = word_set("postal zip country area language locale error failure")  # before "code"
_FACETS = word_set("city country email phone quantity count number capacity size rating score language vendor brand")
_FLAGS = word_set("is has can was does should allow allows")
_UNHELPFUL = word_set("token hash auth signature")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_LINK = re.compile(r"[a-z]{2,8}://|/[\w/]+$")
_DIGITS = re.compile(r"-?\d+(\.\d+)?")
_STEPS = (12, 24, 80, LONG_CHARS)  # characters: a date, a moment, a line, a text
_EPOCHS = range(10**8, 10**13)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A field that may be shown. `chars`: its average characters in compact JSON, name included."""

    path: str
    role: Role
    chars: float


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The plain values of all records at `path`; None for a record without one."""

    path: str
    values: Sequence[Any]
    filled: Sequence[Any]
    words: tuple[str, ...]  # of the path's last step
    kinds: frozenset[str]  # what the values look like
    chars: float  # average of the filled values
    central: int  # how many paths begin with the same word
    required: bool
    enumerated: bool

    @property
    def last(self) -> str:
        return self.words[-1] if self.words else ""

    @property
    def below(self) -> bool:
        return "." in self.path

    @property
    def distinct(self) -> int:
        return len(set(map(str, self.filled)))

    @property
    def is_rare(self) -> bool:
        return 2 * len(self.filled) < len(self.values)

    @property
    def says_nothing(self) -> bool:
        return all(value is False or not str(value).strip("0.") for value in self.filled)

    def candidate(self, role: Role) -> Candidate:
        shown = sum(map(_shown_chars, self.values)) / len(self.values)
        return Candidate(self.path, role, shown + length(dumps(self.path)) + 2)


def _shown_chars(value: Any) -> int:
    """The characters of compact JSON that a preview takes for the value. A long value is cut, with a note."""
    if isinstance(value, list) and measure(value) > CUT_CHARS:
        return NOTE_CHARS
    if isinstance(value, str) and len(value) > LONG_CHARS:
        return length(dumps(value[:LONG_CHARS])) + NOTE_CHARS
    return length(dumps(value))


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, (int, float)):
        return "number"
    if not isinstance(value, str):
        return "list"
    if _ISO_DATE.match(value):
        return "date"
    return "digits" if _DIGITS.fullmatch(value[:40]) else "link" if _LINK.match(value) else "text"


# -- Roles ------------------------------------------------------------------------------------------


def _role(leaf: _Leaf) -> Role:
    if leaf.kinds == {"link"}:
        return Role.LINK
    if leaf.chars > LONG_CHARS:
        return Role.TEXT
    if leaf.kinds == {"flag"} or (len(leaf.words) > 1 and leaf.words[0] in _FLAGS):
        return Role.FLAG
    if leaf.last in _IDENTITIES:
        return Role.IDENTITY if len(leaf.words) == 1 and not leaf.below else Role.REFERENCE
    if leaf.kinds == {"date"} or (not _DATES.isdisjoint(leaf.words) and _is_epoch(leaf)):
        return Role.DATE
    if leaf.last in _STATES:
        return Role.STATE
    if "currency" in leaf.words and "number" not in leaf.kinds:
        return Role.CURRENCY
    if leaf.last in _NAMES or _is_code(leaf):
        return Role.RELATION if leaf.below else Role.NAME
    if leaf.kinds <= {"number", "digits"} and _is_amount(leaf):
        return Role.AMOUNT
    return Role.CHOICE if leaf.enumerated or _is_choice(leaf) else Role.PLAIN


def _is_epoch(leaf: _Leaf) -> bool:
    return bool(leaf.filled) and all(isinstance(value, int) and value in _EPOCHS for value in leaf.filled)


def _is_code(leaf: _Leaf) -> bool:
    """Whether the field is a code: `number` and `orderNumber: "A-17"` name something; `bedroomsNumber: 4` counts."""
    counts = leaf.kinds == {"number"} and len(leaf.words) > 1 and all(value < 1000 for value in leaf.filled)
    return leaf.last in _CODES and _NOT_A_CODE.isdisjoint(leaf.words) and not counts


def _is_amount(leaf: _Leaf) -> bool:
    """Whether the name means money: `totalPrice` and `total` do, `totalWeight` does not."""
    named = set(leaf.words) if leaf.last in _SUMS else set(leaf.words) - _SUMS
    return not named.isdisjoint(_AMOUNTS | _PARTS_OF_AMOUNTS)


def _is_choice(leaf: _Leaf) -> bool:
    """Whether the texts repeat a few values."""
    short = leaf.kinds == {"text"} and leaf.chars < CHOICE_CHARS
    return short and len(leaf.filled) >= FEW and 1 < leaf.distinct <= len(leaf.filled) // 4


def _sort_key(leaf: _Leaf, role: Role) -> tuple[Any, ...]:
    """A sort key within a role: the smallest is the best. Equal ones stay in the order of their appearance."""
    general = (not leaf.required, leaf.is_rare, leaf.says_nothing, leaf.below)
    match role:
        case Role.IDENTITY:
            return (leaf.last != "id", *general)
        case Role.NAME | Role.RELATION:
            return (*general, len(leaf.words) > 1, leaf.last not in _NAMES, not _identifies(leaf), -leaf.central)
        case Role.STATE:
            return (*general, len(leaf.words) > 1, leaf.last not in _STATUSES, _size(leaf))
        case Role.REFERENCE:
            return (*general, _is_constant(leaf), "number" not in leaf.kinds, _size(leaf))
        case Role.DATE:
            return (*general, _upkeep(leaf), _size(leaf))
        case Role.AMOUNT:
            return (*general, leaf.last not in _AMOUNTS, len(leaf.words) - len(_SUMS.intersection(leaf.words)))
        case Role.PLAIN | Role.CHOICE:
            return (*general, _FACETS.isdisjoint(leaf.words), _is_constant(leaf), len(leaf.words) > 1, _size(leaf))
        case _:
            return (*general, len(leaf.words), _size(leaf))


def _identifies(leaf: _Leaf) -> bool:
    return len(leaf.filled) < FEW or leaf.distinct > 0.8 * len(leaf.filled)


def _is_constant(leaf: _Leaf) -> bool:
    return len(leaf.filled) >= FEW and leaf.distinct == 1


def _upkeep(leaf: _Leaf) -> int:
    """For a date: 0 if it belongs to the thing itself, 1 if the record was created then, 2 if it was changed then."""
    return 2 * (not _UPKEPT.isdisjoint(leaf.words)) or int(not _CREATED.isdisjoint(leaf.words))


def _size(leaf: _Leaf) -> int:
    """The size in steps, so that fields of similar size stay in their order."""
    return sum(leaf.chars > step for step in _STEPS)


# -- Turns ------------------------------------------------------------------------------------------


def ranked(
    records: Sequence[Mapping[str, Any]], required: frozenset[str], enumerations: frozenset[str]
) -> list[Candidate]:
    """The candidates, best first, some of each role. Fields without any value are used only if no field has one. Of two
    fields with the same values only the better one is used."""
    found = list(_leaves(records, required, enumerations))
    found = [leaf for leaf in found if leaf.filled] or found
    by_role: dict[Role, list[_Leaf]] = {}
    for leaf in found:
        by_role.setdefault(_role(leaf), []).append(leaf)
    if Role.IDENTITY not in by_role and (own := _own_id(by_role.get(Role.REFERENCE, []))):
        by_role[Role.REFERENCE].remove(own)
        by_role[Role.IDENTITY] = [own]
    in_turn = [
        (_turn(leaf, role, index), role, leaf)
        for role, leaves in by_role.items()
        for index, leaf in enumerate(_best(leaves, role))
    ]
    in_turn.sort(key=lambda each: each[:2])
    roles = {leaf.path: role for _, role, leaf in in_turn}
    best = islice(_without_copies(leaf for _, _, leaf in in_turn), MOST_CANDIDATES)
    return [leaf.candidate(roles[leaf.path]) for leaf in best]


def _own_id(references: Iterable[_Leaf]) -> _Leaf | None:
    """The first id that most records have. It identifies the record if no field is called `id`: a booking's
    `bookingId`."""
    return next((leaf for leaf in references if not leaf.below and not leaf.is_rare), None)


def _best(leaves: list[_Leaf], role: Role) -> list[_Leaf]:
    leaves.sort(key=lambda leaf: _sort_key(leaf, role))
    return list(islice(_without_copies(leaves), MOST_OF_A_ROLE))


def _turn(leaf: _Leaf, role: Role, index: int) -> float:
    first, step = _TURNS[role]
    turn = first + index * step
    if role is Role.IDENTITY:
        return turn
    turn += _RARE * (leaf.is_rare or leaf.says_nothing) + _BELOW_OF.get(role, _BELOW) * leaf.below
    if role is Role.DATE:
        return turn + _UPKEEP * (_upkeep(leaf) > 0)
    if role is Role.REFERENCE:
        return turn + _UPKEEP * ("number" not in leaf.kinds)
    return turn + _FURTHER_STATE * (role is Role.STATE and index > 0 and len(leaf.words) > 1)


def _without_copies(leaves: Iterable[_Leaf]) -> Iterator[_Leaf]:
    """The leaves, without those that repeat the values of an earlier one."""
    seen: dict[tuple[str, ...], list[_Leaf]] = {}
    for leaf in leaves:
        same = seen.setdefault(tuple(map(str, leaf.values)), [])
        if not any(_is_copy(leaf, other) for other in same):
            same.append(leaf)
            yield leaf


def _is_copy(leaf: _Leaf, other: _Leaf) -> bool:
    """Whether equal values are no coincidence: they vary between records, are long, or one name contains the other."""
    if any(len(str(value)) >= CHANCE_CHARS for value in leaf.filled[:1]) or leaf.distinct > 2:
        return True
    mine, others = set(leaf.words), set(other.words)
    return mine <= others or others <= mine


# -- Leaves -----------------------------------------------------------------------------------------


def _leaves(
    records: Sequence[Mapping[str, Any]], required: frozenset[str], enumerations: frozenset[str]
) -> Iterator[_Leaf]:
    columns: dict[str, dict[int, Any]] = {}
    for index, record in enumerate(records):
        for path, value in islice(_plain_values(record), MOST_PATHS):
            if path in columns or len(columns) < MOST_PATHS:
                columns.setdefault(path, {})[index] = value
    first_words = Counter(words(path)[:1] for path in columns)
    for path, column in columns.items():
        values = [column.get(index) for index in range(len(records))]
        filled = [value for value in values if value not in NOTHING]
        yield _Leaf(
            path=path,
            values=values,
            filled=filled,
            words=words(path.rpartition(".")[2]),
            kinds=frozenset(map(_kind, filled[:FEW])),
            chars=sum(map(measure, filled)) / max(len(filled), 1),
            central=first_words[words(path)[:1]],
            required=path in required,
            enumerated=path in enumerations,
        )


def _plain_values(record: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The paths and plain values of the record: its own, informative ones one level down, and the names in short
    lists."""
    left = MOST_BELOW_IN_ALL
    for name, value in record.items():
        if not _is_shown(name):
            continue
        if isinstance(value, dict):
            for step, each in islice(value.items(), MOST_BELOW) if left > 0 else ():
                if _is_worthwhile(step) and not isinstance(each, (dict, list)):
                    left -= 1
                    yield f"{name}.{step}", each
        elif isinstance(value, list):
            yield from _names_in(name, value)
        else:
            yield name, value


def _names_in(name: str, elements: list[Any]) -> Iterator[tuple[str, Any]]:
    if not 0 < len(elements) <= SHORT_LIST or not all(isinstance(element, dict) for element in elements):
        return
    for step, value in islice(elements[0].items(), MOST_BELOW):
        if isinstance(value, str) and _is_shown(step) and words(step)[-1:] and words(step)[-1] in _NAMES:
            yield f"{name}.*.{step}", [element.get(step) for element in elements]
            return


def _is_shown(name: str) -> bool:
    """Whether the field may be proposed; a secret's name may not."""
    return len(name) <= LONGEST and _is_harmless(name)


@lru_cache(maxsize=8192)
def _is_harmless(name: str) -> bool:
    return askable(name) and not is_secret(name) and _UNHELPFUL.isdisjoint(words(name))


def _is_worthwhile(step: str) -> bool:
    return _is_shown(step) and not _WORTHWHILE.isdisjoint(words(step)[-1:])


_WORTHWHILE = _IDENTITIES | _NAMES | _CODES | _STATES | _AMOUNTS | word_set("currency date city country")
