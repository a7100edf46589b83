"""What the names of an object's fields say, decided once for all objects with the same names: records of one list."""

from dataclasses import dataclass
from functools import lru_cache

from context_protection.proposing.names import word_set
from context_protection.redaction import pairs, terms
from context_protection.redaction.folding import compact, spaced
from context_protection.redaction.names import label_kind, place_kind, secret_kind
from context_protection.redaction.vocabulary import ABOUT_BEFORE

# Codes of anything; of a lock only in an object that tells of one.
_CODES_OF_ANYTHING = word_set("code codes key combination")
_FEW = 24  # fields; an object with more is about other things, too
_MANY = 200  # fields; an object with more holds data under its names, and is not kept


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: of the secret that it holds. `opens`: of what its value is the code, if it looks like one. `is_place`:
    its value may be the place's code. `is_custom`: what is below are custom fields."""

    kind: str | None
    opens: str | None
    is_place: bool
    is_custom: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """`values`: the names of those that hold what belongs to the object's label."""

    each: tuple[Field, ...]
    values: tuple[str, ...]
    may_be_table: bool


def fields_of(names: tuple[str, ...], *, within: str, custom: bool) -> Fields:
    """`within`: the name of the field that holds the object. `custom`: the object holds custom fields, or stands below
    some."""
    lock = terms.lock_of_words(spaced(within), or_door=True) if within else None
    return _kept(names, lock, custom) if len(names) <= _MANY else _decided(names, lock, custom)


def _decided(names: tuple[str, ...], lock: str | None, custom: bool) -> Fields:
    kind = label_kind if custom else secret_kind
    opened = lock or _lock_beside(names)
    return Fields(
        tuple(
            Field(
                kind(name),
                opened if compact(name) in _CODES_OF_ANYTHING else None,
                place_kind(name) is not None,
                custom or pairs.holds_custom_fields(name),
            )
            for name in names
        ),
        tuple(name for name in names if pairs.part_of_pair(name) == "value"),
        pairs.may_be_table(names),
    )


def _lock_beside(names: tuple[str, ...]) -> str | None:
    """The kind of code that the names of other fields tell of: {"smartlockId": 7, "code": 4711}."""
    if len(names) > _FEW or _CODES_OF_ANYTHING.isdisjoint(map(compact, names)):
        return None
    words = map(spaced, names)
    about_locks = (each for each in words if each.partition(" ")[0] not in ABOUT_BEFORE)  # not: `hasKeybox`
    return next(filter(None, (terms.lock_of_words(each, or_door=False) for each in about_locks)), None)


_kept = lru_cache(maxsize=2048)(_decided)
