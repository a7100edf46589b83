"""The plain values of a record that may be proposed, with their paths: the record's own, those of objects that only
wrap or spell out its fields, and what identifies a related object."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from context_protection.core.inference.names import LONGEST, queryable, word_set, words
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
from context_protection.core.redaction import is_secret

SHORT_LIST = 5  # maximum elements of a list whose names are shown
MAX_BELOW = 20  # names that are examined in one nested object
MAX_IN_WRAPPER = 40  # names that are examined in an object that only wraps the record's fields
MAX_BELOW_IN_ALL = 60  # names that are examined in all nested objects together
MAX_LOOKED_AT = 8  # records that tell which object wraps the others
RICH_TEXT = "plain_text"  # the text of an element of formatted text
TYPE = "type"
_WORTHWHILE = frozenset(
    (*IDENTITIES, *NAMES, *CODES, *STATES, *AMOUNTS, *MESSAGES, *word_set("currency date city country"))
)
_SAYS_THE_STATE = NAMES | STATES | word_set("value result")
_SAYS_THE_AMOUNT = AMOUNTS | word_set("currency")
_SAYS_THE_DATE = word_set("date time datetime timestamp")


class PlainValue(NamedTuple):
    """`below`: it belongs to a related object. Fields of a wrapper, and of an object that spells out one value
    (`status.name`, `start.dateTime`, `price.amount`), belong to the record itself."""

    path: str
    value: Any
    below: bool


def wrappers_of(records: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """The names of objects that hold the record's own fields. A record without an id is about the nested object that
    has an id and a name: {"added_at": …, "track": {"id": …, "name": …}}."""
    looked_at = records[:MAX_LOOKED_AT]
    if any(_has_id(record) for record in looked_at):
        return WRAPPERS
    sizes = {
        name: len(value)
        for record in reversed(looked_at)
        for name, value in islice(record.items(), MAX_IN_WRAPPER)
        if isinstance(value, dict) and _has_id(value) and not _last_words(value).isdisjoint(NAMES)
    }
    return WRAPPERS | {max(sizes, key=lambda name: sizes[name])} if sizes else WRAPPERS


def _has_id(record: Mapping[str, Any]) -> bool:
    return not _last_words(record).isdisjoint(IDENTITIES)


def _last_words(record: Mapping[str, Any]) -> set[str]:
    """The last words of the names of plain values."""
    plain = (name for name, value in islice(record.items(), MAX_IN_WRAPPER) if isinstance(value, (str, int)))
    return {last for name in plain for last in words(name)[-1:]}


def plain_values(record: Mapping[str, Any], wrappers: frozenset[str]) -> Iterator[PlainValue]:
    """The record's own values, the informative ones one level down (two, below an object that only wraps the record's
    fields), and the names in short lists."""
    left = MAX_BELOW_IN_ALL
    for name, value in record.items():
        if not is_shown(name):
            continue
        if isinstance(value, dict):
            for each in islice(_wrapped(name, value) if name in wrappers else _related(name, value), left):
                yield each
                left -= 1
        elif isinstance(value, list):
            yield from _names_in(name, value)
        else:
            yield PlainValue(name, value, below=False)


def _wrapped(path: str, value: Mapping[str, Any]) -> Iterator[PlainValue]:
    for step, each in islice(value.items(), MAX_IN_WRAPPER):
        if not is_shown(step):
            continue
        if isinstance(each, dict):
            yield from _tagged(f"{path}.{step}", each) if _has_tag(each) else _related(f"{path}.{step}", each)
        elif isinstance(each, list):
            yield from _names_in(f"{path}.{step}", each)
        else:
            yield PlainValue(f"{path}.{step}", each, below=False)


def _related(path: str, value: Mapping[str, Any]) -> Iterator[PlainValue]:
    """The identifying fields of a related object, and the names of people in it."""
    holder = words(path.rpartition(".")[2])
    for step, each in islice(value.items(), MAX_BELOW):
        if isinstance(each, dict) and is_shown(step) and not PEOPLE.isdisjoint(words(step)[-1:]):
            named = ((name, of_it) for name, of_it in islice(each.items(), MAX_BELOW) if _is_name(name, of_it))
            yield from (PlainValue(f"{path}.{step}.{name}", of_it, below=True) for name, of_it in named)
        elif not isinstance(each, (dict, list)) and is_shown(step):
            is_spelled_out = _spells_out(holder, words(step))
            if is_spelled_out or not _WORTHWHILE.isdisjoint(words(step)[-1:]):
                yield PlainValue(f"{path}.{step}", each, below=not is_spelled_out)


@lru_cache(maxsize=8192)
def _spells_out(holder: tuple[str, ...], step: tuple[str, ...]) -> bool:
    """Whether the field says the value that its object is named after: a state's name, a date's day, an amount."""
    noun = holder[-1:]
    if not STATES.isdisjoint(noun):
        return not _SAYS_THE_STATE.isdisjoint(step[-1:])
    if not AMOUNTS.isdisjoint(noun) or noun == ("money",):
        return not _SAYS_THE_AMOUNT.isdisjoint(step)
    return not MAIN_DATES.isdisjoint(noun) and not _SAYS_THE_DATE.isdisjoint(step) and "zone" not in step


def _is_name(step: str, value: Any) -> bool:
    return isinstance(value, str) and is_shown(step) and not NAMES.isdisjoint(words(step)[-1:])


def _has_tag(value: Mapping[str, Any]) -> bool:
    """Whether the object names the one of its members that holds its value: {"type": "date", "date": {…}}."""
    tag = value.get(TYPE)
    return isinstance(tag, str) and tag != TYPE and tag in value and is_shown(tag)


def _tagged(path: str, value: Mapping[str, Any]) -> Iterator[PlainValue]:
    tag = value[TYPE]
    held = value[tag]
    if isinstance(held, dict):
        plain = ((step, each) for step, each in islice(held.items(), MAX_BELOW) if not isinstance(each, (dict, list)))
        told = ((step, each) for step, each in plain if _is_told(step))
        yield from (PlainValue(f"{path}.{tag}.{step}", each, below=False) for step, each in told)
    elif isinstance(held, list):
        yield from (each._replace(below=False) for each in _names_in(f"{path}.{tag}", held))
    else:
        yield PlainValue(f"{path}.{tag}", held, below=False)


def _is_told(step: str) -> bool:
    return is_shown(step) and not (_WORTHWHILE | MAIN_DATES).isdisjoint(words(step)[-1:]) and step != "id"


def _names_in(path: str, elements: list[Any]) -> Iterator[PlainValue]:
    """The names of a short list of objects; of formatted text, its texts."""
    if not 0 < len(elements) <= SHORT_LIST or not all(isinstance(element, dict) for element in elements):
        return
    for step, value in islice(elements[0].items(), MAX_BELOW):
        if _is_name(step, value) or (step == RICH_TEXT and isinstance(value, str)):
            yield PlainValue(f"{path}.*.{step}", [element.get(step) for element in elements], below=True)
            return


def is_shown(name: str) -> bool:
    """Whether the field may be proposed; secret fields may not."""
    return len(name) <= LONGEST and _is_harmless(name)


@lru_cache(maxsize=8192)
def _is_harmless(name: str) -> bool:
    return queryable(name) and not is_secret(name) and UNHELPFUL.isdisjoint(words(name))
