"""What the names of an object's fields say, decided once for all objects with the same names: records of one list."""

from dataclasses import dataclass
from functools import lru_cache

from context_protection.redaction import pairs
from context_protection.redaction.names import label_kind, place_kind, secret_kind

_MANY = 200  # fields; an object with more holds data under its names, and is not kept


@dataclass(frozen=True, slots=True)
class Field:
    """`kind`: of the secret that it holds. `is_place`: its value may be the place's code. `is_custom`: what is below
    are custom fields."""

    kind: str | None
    is_place: bool
    is_custom: bool


@dataclass(frozen=True, slots=True)
class Fields:
    """`values`: the names of those that hold what belongs to the object's label."""

    each: tuple[Field, ...]
    values: tuple[str, ...]
    may_be_table: bool


def fields_of(names: tuple[str, ...], *, custom: bool) -> Fields:
    """`custom`: the object holds custom fields, or stands below some."""
    return _kept(names, custom) if len(names) <= _MANY else _decided(names, custom)


def _decided(names: tuple[str, ...], custom: bool) -> Fields:
    kind = label_kind if custom else secret_kind
    return Fields(
        tuple(
            Field(kind(name), place_kind(name) is not None, custom or pairs.holds_custom_fields(name)) for name in names
        ),
        tuple(name for name in names if pairs.part_of_pair(name) == "value"),
        pairs.may_be_table(names),
    )


_kept = lru_cache(maxsize=2048)(_decided)
