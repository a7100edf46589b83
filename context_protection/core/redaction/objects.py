"""What the names of an object's fields say, decided once for all objects with the same names: records of one list."""

from dataclasses import dataclass
from functools import lru_cache

from context_protection.core.inference.names import word_set
from context_protection.core.redaction import pairs, terms, vocabulary
from context_protection.core.redaction.folding import compact, spaced
from context_protection.core.redaction.names import label_kind, nested_kind, place_kind, secret_kind

# Codes of anything; of a lock only in an object that tells of one.
_CODES_OF_ANYTHING = word_set("code codes key combination")
# A password may be any word; the code of a place looks like one.
_WITHOUT_DIGITS = frozenset({vocabulary.WIFI, "API key", "access instructions"})
_FEW = 24  # fields; an object with more is about other things, too
_MANY = 200  # fields; an object with more holds data under its names, and is not kept


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: of the secret that it holds. `opens`: of what its value is the code, if it looks like one or holds one.
    `is_place`: its value may be the place's code. `is_custom`: what is below are custom fields."""

    kind: str | None
    opens: str | None
    is_place: bool
    is_custom: bool
    is_named: bool  # any of the first three


@dataclass(frozen=True, slots=True)
class Fields:
    """`values`: the names of those that hold what belongs to the object's label."""

    each: tuple[Field, ...]
    values: tuple[str, ...]
    may_be_table: bool


def fields_of(names: tuple[str, ...], *, within: str, custom: bool) -> Fields:
    """`within`: the name by which the object is understood. `custom`: the object holds custom fields, or stands below
    some."""
    holder = within if within and _may_have_a_code(within) else ""
    return _kept(names, holder, custom) if len(names) <= _MANY else _decided(names, holder, custom)


@lru_cache(maxsize=8192)
def _may_have_a_code(holder: str) -> bool:
    """Whether a field is secret by this name and its own together. Most are not, and share what is kept."""
    others = ("code", "key", "instructions")
    return _lock(holder) is not None or any(nested_kind(holder, name) is not None for name in others)


def _lock(holder: str) -> str | None:
    words = spaced(holder)
    return terms.lock_of_words(words, or_door=True) if _has_one(words) else None


def _has_one(words: str) -> bool:
    """Not: `hasKeybox`."""
    return words.partition(" ")[0] not in vocabulary.ABOUT_BEFORE


def _decided(names: tuple[str, ...], holder: str, custom: bool) -> Fields:
    beside = _lock_beside(names)
    is_value = not any(_measures(name) for name in names)
    each = [_field(name, holder, beside, custom=custom, is_value=is_value) for name in names]
    values = tuple(name for name in names if pairs.part_of_pair(name) == "value")
    return Fields(tuple(each), values, pairs.may_be_table(names))


def _field(name: str, holder: str, beside: str | None, *, custom: bool, is_value: bool) -> Field:
    own = compact(name)
    kind = label_kind(name) if custom else secret_kind(name)
    opens = None
    if holder and kind is None and (is_value or own not in vocabulary.VALUE_NAMES):
        opens = nested_kind(holder, name)
        if opens in _WITHOUT_DIGITS:
            kind, opens = opens, None
    if opens is None and own in _CODES_OF_ANYTHING:
        opens = (_lock(holder) if holder else None) or beside
    is_place = place_kind(name) is not None
    is_named = is_place or kind is not None or opens is not None
    return Field(kind, opens, is_place, custom or pairs.holds_custom_fields(name), is_named)


def _measures(name: str) -> bool:
    """Whether it says that the value beside it is a measure, a price, or something with a label."""
    return compact(name) in vocabulary.MEASURED or pairs.part_of_pair(name).endswith("label")


def _lock_beside(names: tuple[str, ...]) -> str | None:
    """The kind of code that the names of other fields tell of: {"smartlockId": 7, "code": 4711}."""
    if len(names) > _FEW or _CODES_OF_ANYTHING.isdisjoint(map(compact, names)):
        return None
    words = map(spaced, names)
    locks = (terms.lock_of_words(each, or_door=False) for each in words if _has_one(each))
    return next(filter(None, locks), None)


_kept = lru_cache(maxsize=2048)(_decided)
