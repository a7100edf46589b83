"""Finds the values of a record that a row or preview may show, with their paths.

These are

- the record's own texts, numbers, dates and flags;
- the fields of a wrapper, an object that only groups the record's own fields: {"attributes": {"name": …}};
- the parts of an object that stands for a single value: `status.name`, `start.dateTime`, `price.amount`;
- the identifying fields of a related object, and the names in a short list of objects.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from context_protection.core.inference.vocabulary import (
    AMOUNTS,
    CODES,
    IDENTITIES,
    MAIN_DATES,
    MESSAGES,
    NAMES,
    PEOPLE,
    STATES,
    UNHELPFUL,
    WRAPPERS,
)
from context_protection.core.name_words import LONGEST, queryable, word_set, words
from context_protection.core.redaction import is_secret

SHORT_LIST = 5  # the names in a list are shown if it has at most this many elements
MAX_BELOW = 20  # names that are examined in one nested object
MAX_IN_WRAPPER = 40  # names that are examined in a wrapper
MAX_BELOW_IN_ALL = 60  # values that are taken from all nested objects together
MAX_RECORDS = 8  # records that are examined to find wrappers
RICH_TEXT = "plain_text"  # the text of an element of formatted text
TYPE = "type"
_WORTHWHILE = frozenset(
    (*IDENTITIES, *NAMES, *CODES, *STATES, *AMOUNTS, *MESSAGES, *word_set("currency date city country"))
)
_STATE_PARTS = NAMES | STATES | word_set("value result")
_AMOUNT_PARTS = AMOUNTS | word_set("currency")
_DATE_PARTS = word_set("date time datetime timestamp")


class PlainValue(NamedTuple):
    """A value that is not an object. `below`: it belongs to a related object instead of the record itself."""

    path: str
    value: Any
    below: bool


def wrappers_of(records: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The names of wrappers. If the records have no id of their own, the largest nested object with an id and a name is
    also a wrapper: {"added_at": …, "track": {"id": …, "name": …}}."""
    examined = records[:MAX_RECORDS]
    if any(_has_id(record) for record in examined):
        return WRAPPERS
    sizes = {
        name: len(value)
        for record in reversed(examined)
        for name, value in islice(record.items(), MAX_IN_WRAPPER)
        if isinstance(value, dict) and _has_id(value) and not _last_words(value).isdisjoint(NAMES)
    }
    return WRAPPERS | {max(sizes, key=lambda name: sizes[name])} if sizes else WRAPPERS


def _has_id(record: Mapping[str, Any]) -> bool:
    return not _last_words(record).isdisjoint(IDENTITIES)


def _last_words(record: Mapping[str, Any]) -> set[str]:
    """The last word in the name of each field whose value is a text or an integer: "id" for `user_id`."""
    plain = (name for name, value in islice(record.items(), MAX_IN_WRAPPER) if isinstance(value, (str, int)))
    return {last for name in plain for last in words(name)[-1:]}


def plain_values(record: Mapping[str, Any], wrappers: frozenset[str]) -> Iterator[PlainValue]:
    """The values of the record that the module's docstring lists, in the record's order."""
    left = MAX_BELOW_IN_ALL
    for name, value in record.items():
        if not is_shown(name):
            continue
        if isinstance(value, dict):
            for each in islice(_in_wrapper(name, value) if name in wrappers else _in_related(name, value), left):
                yield each
                left -= 1
        elif isinstance(value, list):
            yield from _names_in(name, value)
        else:
            yield PlainValue(name, value, below=False)


def _in_wrapper(path: str, value: Mapping[str, Any]) -> Iterator[PlainValue]:
    for step, each in islice(value.items(), MAX_IN_WRAPPER):
        if not is_shown(step):
            continue
        if isinstance(each, dict):
            yield from _tagged(f"{path}.{step}", each) if _has_tag(each) else _in_related(f"{path}.{step}", each)
        elif isinstance(each, list):
            yield from _names_in(f"{path}.{step}", each)
        else:
            yield PlainValue(f"{path}.{step}", each, below=False)


def _in_related(path: str, value: Mapping[str, Any]) -> Iterator[PlainValue]:
    """The identifying fields of a related object, and the names of people in it."""
    holder = words(path.rpartition(".")[2])
    for step, each in islice(value.items(), MAX_BELOW):
        if isinstance(each, dict) and is_shown(step) and not PEOPLE.isdisjoint(words(step)[-1:]):
            names = ((key, name) for key, name in islice(each.items(), MAX_BELOW) if _is_name(key, name))
            yield from (PlainValue(f"{path}.{step}.{key}", name, below=True) for key, name in names)
        elif not isinstance(each, (dict, list)) and is_shown(step):
            is_own_value = _is_value_of(holder, words(step))
            if is_own_value or not _WORTHWHILE.isdisjoint(words(step)[-1:]):
                yield PlainValue(f"{path}.{step}", each, below=not is_own_value)


@lru_cache(maxsize=8192)
def _is_value_of(holder: tuple[str, ...], step: tuple[str, ...]) -> bool:
    """Whether the object `holder` stands for a single value, and this field is part of it: the name of a status, the
    time of a start, the amount of a price."""
    noun = holder[-1:]
    if not STATES.isdisjoint(noun):
        return not _STATE_PARTS.isdisjoint(step[-1:])
    if not AMOUNTS.isdisjoint(noun) or noun == ("money",):
        return not _AMOUNT_PARTS.isdisjoint(step)
    return not MAIN_DATES.isdisjoint(noun) and not _DATE_PARTS.isdisjoint(step) and "zone" not in step


def _is_name(step: str, value: Any) -> bool:
    return isinstance(value, str) and is_shown(step) and not NAMES.isdisjoint(words(step)[-1:])


def _has_tag(value: Mapping[str, Any]) -> bool:
    """Whether the object is a tagged union: {"type": "date", "date": {…}}."""
    tag = value.get(TYPE)
    return isinstance(tag, str) and tag != TYPE and tag in value and is_shown(tag)


def _tagged(path: str, value: Mapping[str, Any]) -> Iterator[PlainValue]:
    tag = value[TYPE]
    content = value[tag]
    if isinstance(content, dict):
        plain = (
            (step, each) for step, each in islice(content.items(), MAX_BELOW) if not isinstance(each, (dict, list))
        )
        shown = ((step, each) for step, each in plain if _is_informative(step))
        yield from (PlainValue(f"{path}.{tag}.{step}", each, below=False) for step, each in shown)
    elif isinstance(content, list):
        yield from (each._replace(below=False) for each in _names_in(f"{path}.{tag}", content))
    else:
        yield PlainValue(f"{path}.{tag}", content, below=False)


def _is_informative(step: str) -> bool:
    return is_shown(step) and not (_WORTHWHILE | MAIN_DATES).isdisjoint(words(step)[-1:]) and step != "id"


def _names_in(path: str, elements: list[Any]) -> Iterator[PlainValue]:
    """The names in a short list of objects, as one value; for formatted text, its texts."""
    if not 0 < len(elements) <= SHORT_LIST or not all(isinstance(element, dict) for element in elements):
        return
    for step, value in islice(elements[0].items(), MAX_BELOW):
        if _is_name(step, value) or (step == RICH_TEXT and isinstance(value, str)):
            yield PlainValue(f"{path}.*.{step}", [element.get(step) for element in elements], below=True)
            return


def is_shown(name: str) -> bool:
    """Whether a field of this name may be shown at all."""
    return len(name) <= LONGEST and _is_harmless(name)


@lru_cache(maxsize=8192)
def _is_harmless(name: str) -> bool:
    return queryable(name) and not is_secret(name) and UNHELPFUL.isdisjoint(words(name))
