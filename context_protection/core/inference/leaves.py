"""The leaves of some records: the fields that may be proposed, with their values in all records."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count, islice
from typing import Any

from context_protection.core.inference.groups import measure
from context_protection.core.inference.names import LONGEST, queryable, word_set, words
from context_protection.core.inference.vocabulary import AMOUNTS, CODES, IDENTITIES, NAMES, STATES, UNHELPFUL, WRAPPERS
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import NOTHING

SHORT_LIST = 5  # maximum elements of a list whose names are shown
MAX_BELOW = 20  # names that are examined in one nested object
MAX_IN_WRAPPER = 40  # names that are examined in an object that only wraps the record's fields
MAX_BELOW_IN_ALL = 60  # names that are examined in all nested objects together
MAX_PATHS = 250  # paths that are examined
FEW = 8  # fewer records do not show how often values repeat
_DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}|(?:\w{3}, )?\d{1,2} \w{3} \d{4}\b")  # ISO 8601 and RFC 2822
_LINK = re.compile(r"[a-z]{2,8}://|/[\w/]+$")
_DIGITS = re.compile(r"-?\d+(\.\d+)?")
_WORTHWHILE = frozenset(
    (*IDENTITIES, *NAMES, *CODES, *STATES, *AMOUNTS, *word_set("currency date city country message"))
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The values of all records at `path`; None for a record without one."""

    path: str
    values: Sequence[Any]
    filled: Sequence[Any]
    words: tuple[str, ...]  # words of the path's last step
    kinds: frozenset[str]  # the form of the values
    chars: float  # average of the filled values
    central: int  # number of paths that begin with the same word
    required: bool
    enumerated: bool

    @property
    def last(self) -> str:
        return self.words[-1] if self.words else ""

    @property
    def below(self) -> bool:
        """Whether it belongs to a related object. Fields of a wrapper belong to the record itself."""
        above, _, _ = self.path.rpartition(".")
        return bool(above) and above not in WRAPPERS

    @property
    def distinct(self) -> int:
        return len(set(map(str, self.filled)))

    @property
    def is_rare(self) -> bool:
        return 2 * len(self.filled) < len(self.values)

    @property
    def says_nothing(self) -> bool:
        return all(value is False or not str(value).strip("0.") for value in self.filled)


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, (int, float)):
        return "number"
    if not isinstance(value, str):
        return "list"
    if _DATE_TEXT.match(value):
        return "date"
    return "digits" if _DIGITS.fullmatch(value[:40]) else "link" if _LINK.match(value) else "text"


def leaves(
    records: Sequence[Mapping[str, Any]], required: frozenset[str], enumerations: frozenset[str]
) -> Iterator[Leaf]:
    """The leaves of the records. `required` and `enumerations`: the paths that a schema
    declares to be required, or to be one of a few values."""
    columns: dict[str, dict[int, Any]] = {}
    for index, record in enumerate(records):
        for path, value in islice(_plain_values(record), MAX_PATHS):
            if path in columns or len(columns) < MAX_PATHS:
                columns.setdefault(path, {})[index] = value
    first_words = Counter(words(path)[:1] for path in columns)
    for path, column in columns.items():
        values = [column.get(index) for index in range(len(records))]
        filled = [value for value in values if value not in NOTHING]
        yield Leaf(
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
    """The paths and values of the record's own fields, of informative fields one level down (two, below an object that
    only wraps the record's fields), and of the names in short lists."""
    left = count()
    for name, value in record.items():
        if not _is_shown(name):
            continue
        if isinstance(value, dict):
            yield from _values_below(name, value, left, is_wrapper=name in WRAPPERS)
        elif isinstance(value, list):
            yield from _names_in(name, value)
        else:
            yield name, value


def _values_below(
    path: str, value: Mapping[str, Any], seen: Iterator[int], *, is_wrapper: bool
) -> Iterator[tuple[str, Any]]:
    for step, each in islice(value.items(), MAX_IN_WRAPPER if is_wrapper else MAX_BELOW):
        if isinstance(each, dict) and is_wrapper and _is_shown(step):
            yield from _values_below(f"{path}.{step}", each, seen, is_wrapper=False)
        elif not isinstance(each, (dict, list)) and (_is_shown(step) if is_wrapper else _is_worthwhile(step)):
            if next(seen) >= MAX_BELOW_IN_ALL:
                return
            yield f"{path}.{step}", each


def _names_in(name: str, elements: list[Any]) -> Iterator[tuple[str, Any]]:
    if not 0 < len(elements) <= SHORT_LIST or not all(isinstance(element, dict) for element in elements):
        return
    for step, value in islice(elements[0].items(), MAX_BELOW):
        if isinstance(value, str) and _is_shown(step) and words(step)[-1:] and words(step)[-1] in NAMES:
            yield f"{name}.*.{step}", [element.get(step) for element in elements]
            return


def _is_shown(name: str) -> bool:
    """Whether the field may be proposed; secret fields may not."""
    return len(name) <= LONGEST and _is_harmless(name)


@lru_cache(maxsize=8192)
def _is_harmless(name: str) -> bool:
    return queryable(name) and not is_secret(name) and UNHELPFUL.isdisjoint(words(name))


def _is_worthwhile(step: str) -> bool:
    return _is_shown(step) and not _WORTHWHILE.isdisjoint(words(step)[-1:])
