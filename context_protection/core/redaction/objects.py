"""Classifies an object's fields by their names. The result is cached: the records of one list share their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, repeat
from typing import Any

from context_protection.core.name_words import word_set
from context_protection.core.redaction import pairs, terms, vocabulary
from context_protection.core.redaction.folding import compact, spaced
from context_protection.core.redaction.names import label_kind, nested_kind, place_kind, secret_kind
from context_protection.core.redaction.quick_names import may_mean_something

# A field with one of these names may hold any code. In an object about a lock it holds the lock's code.
_GENERIC_CODES = word_set("code codes key combination")
# Secrets of these kinds may have no digits; the codes of places always have some.
_WITHOUT_DIGITS = frozenset({vocabulary.WIFI, "API key", "access instructions"})
_SMALL = 24  # fields; in a larger object, a field about a lock says nothing about the other fields
_LARGE = 200  # fields; a larger object is a map whose keys are data, so its result is not cached
SCALARS = frozenset({int, float, bool, type(None)})
SCALARS_AND_TEXTS = SCALARS | {str}
NESTED = frozenset({dict, list})
EXAMINABLE = SCALARS_AND_TEXTS | NESTED  # the types of parsed JSON; other values are searched one by one


@dataclass(frozen=True, slots=True)
class ObjectField:
    """The meaning of a field's name for its value.

    `kind`: the kind of secret. `opens`: the kind of the code that the value may be or contain.
    `is_place`: the name is a place, so the value may be its code. `is_custom`: the values below are custom fields."""

    kind: str | None
    opens: str | None
    is_place: bool
    is_custom: bool
    is_named: bool  # any of the first three

    @property
    def is_only_place(self) -> bool:
        """Whether the name says nothing about values that hold others."""
        return self.is_place and self.kind is None and self.opens is None


@dataclass(frozen=True, slots=True)
class Fields:
    """All fields of an object. `named`: the places of those whose names mean something. `plain`: the places of those
    whose names mean nothing, not even for the fields below them. `values`: the names of fields that hold the value of a
    name/value pair. `labels`: the names of fields that may hold the name of such a pair."""

    each: tuple[ObjectField, ...]
    named: frozenset[int]
    plain: frozenset[int]
    values: tuple[str, ...]
    labels: tuple[str, ...]
    may_be_table: bool


def fields_of(names: tuple[str, ...], *, within: str, custom: bool) -> Fields:
    """Classifies fields of these names. `within`: the holder name of the object (names.holder_below). `custom`: the
    object holds custom fields, or is nested in one that does."""
    holder = holder_of(within)
    return _cached(names, holder, custom) if len(names) <= _LARGE else _classified(names, holder, custom)


def may_name_secret(value: Mapping[str, Any]) -> bool:
    """Whether the name of a field, or a name/value pair, may denote a secret. Texts are not searched. True for an
    object that has others below it."""
    fields = fields_of(tuple(value), within="", custom=False)
    is_flat = SCALARS_AND_TEXTS.issuperset(map(type, value.values()))
    return not is_flat or bool(fields.named or fields.may_be_table or (fields.values and fields.labels))


def holder_of(within: str) -> str:
    """The holder name, if it can turn a field below it into a secret. Else "", so that objects with other holders share
    cache entries."""
    return within if within and _may_have_a_code(within) else ""


@lru_cache(maxsize=8192)
def _may_have_a_code(holder: str) -> bool:
    others = ("code", "key", "instructions")
    return _lock(holder) is not None or any(nested_kind(holder, name) is not None for name in others)


def _lock(holder: str) -> str | None:
    words = spaced(holder)
    return terms.lock_of_words(words, or_door=True) if _names_lock_itself(words) else None


def _names_lock_itself(words: str) -> bool:
    """Whether the words name the lock itself, not a fact about it such as `hasKeybox`."""
    return words.partition(" ")[0] not in vocabulary.ABOUT_BEFORE


def _classified(names: tuple[str, ...], holder: str, custom: bool) -> Fields:
    beside = _neighbouring_lock(names)
    meaning = may_mean_something(names)
    is_value = not any(map(_measures, meaning))
    of_meaning = {name: _field(name, holder, beside, custom=custom, is_value=is_value) for name in meaning}
    each = tuple(map(of_meaning.get, names, repeat(_shared(None, None, False, custom, False))))
    places = list(compress(range(len(names)), map(of_meaning.__contains__, names)))  # few: the loops below are short
    parts = [(name, part) for name in meaning if (part := pairs.part_of_pair(name))]
    others = {at for at in places if each[at].is_named or holder_of(names[at]) or each[at].is_custom != custom}
    return Fields(
        each=each,
        named=frozenset(at for at in places if each[at].is_named),
        plain=frozenset() if holder else frozenset(range(len(names))).difference(others),
        values=tuple(name for name, part in parts if part == "value"),
        labels=tuple(name for name, part in parts if part != "value"),
        may_be_table=pairs.may_be_table(meaning),
    )


def _field(name: str, holder: str, beside: str | None, *, custom: bool, is_value: bool) -> ObjectField:
    own = compact(name)
    kind = label_kind(name) if custom else secret_kind(name)
    opens = None
    if holder and kind is None and (is_value or own not in vocabulary.VALUE_NAMES):
        opens = nested_kind(holder, name)
        if opens in _WITHOUT_DIGITS:
            kind, opens = opens, None
    if opens is None and own in _GENERIC_CODES:
        opens = (_lock(holder) if holder else None) or beside
    is_place = place_kind(name) is not None
    is_named = is_place or kind is not None or opens is not None
    return _shared(kind, opens, is_place, custom or pairs.holds_custom_fields(name), is_named)


def _measures(name: str) -> bool:
    """Whether a field of this name makes the value beside it a measure, a price, or the value of a label."""
    return compact(name) in vocabulary.MEASURED or pairs.part_of_pair(name).endswith("label")


def _neighbouring_lock(names: tuple[str, ...]) -> str | None:
    """The kind of lock code that the names of neighbouring fields imply: {"smartlockId": 7, "code": 4711}."""
    if len(names) > _SMALL or _GENERIC_CODES.isdisjoint(map(compact, names)):
        return None
    words = map(spaced, names)
    locks = (terms.lock_of_words(each, or_door=False) for each in words if _names_lock_itself(each))
    return next(filter(None, locks), None)


_cached = lru_cache(maxsize=2048)(_classified)
_shared = lru_cache(maxsize=1024)(ObjectField)  # most fields are equal, and `_cached` may hold hundreds of thousands
