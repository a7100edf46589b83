"""Withholds a field under all its names.

The same value may be found under a canonical name, under upstream's name, and under aliases. If the policy withholds
one of these names, the others are withheld too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from context_protection.core.fields import Field
from context_protection.core.redaction import POLICY, Visibility, mark, redact
from context_protection.core.shapes import Shape

MASK = mark(POLICY)


@dataclass(frozen=True)
class MaskedField(Field):
    """A canonical field that is withheld: it reads as the mask. `hidden`: the paths in upstream's record that hold its
    value."""

    hidden: tuple[str, ...] = ()

    @classmethod
    def of(cls, field: Field) -> "MaskedField":
        return cls(field.name, field.path, lambda _: MASK, field.is_kept, field.sources)

    @property
    def sources(self) -> tuple[str, ...]:
        return self.hidden

    def read(self, record: Mapping[str, Any]) -> Any:
        return MASK


def under_all_names(visibility: Visibility, shape: Shape) -> Visibility:
    """The visibility, extended: it also withholds all other names that the shape has for its withheld fields."""
    if not visibility.withheld:
        return visibility
    fields = (*shape.fields.values(), *shape.aliases)
    while True:  # a name that is added may belong to another field too, which is then withheld as well
        withheld = visibility.withheld.union(*(_names(each) for each in fields if _is_withheld(each, visibility)))
        if withheld == visibility.withheld:
            return visibility
        visibility = replace(visibility, withheld=withheld)


def seen(rows: list[Any], shape: Shape, visibility: Visibility) -> list[Any]:
    """The rows with masks in place of secrets and of withheld fields. A single record is passed as a list of one."""
    return redact(rows, under_all_names(visibility, shape))[0]  # type: ignore[no-any-return]


def shape_as_seen(shape: Shape, visibility: Visibility) -> Shape:
    """The shape, with masked fields in place of the canonical fields that are withheld. Masking upstream's record is
    not enough: a canonical field can be computed from several of its fields, or from the absence of one."""
    if not visibility.withheld:
        return shape
    every = under_all_names(visibility, shape)

    def masked(fields: Iterable[Field]) -> tuple[Field, ...]:
        return tuple(MaskedField.of(each) if _is_withheld(each, every) else each for each in fields)

    return replace(
        shape,
        row=masked(shape.row),
        preview=masked(shape.preview),
        others=masked(shape.others),
        aliases=masked(shape.aliases),
    )


def _is_withheld(field: Field, visibility: Visibility) -> bool:
    return any(visibility.withholds(name.split(".")) for name in (field.name, *field.sources))


def _names(field: Field) -> list[str]:
    """The field's names in the form that Visibility expects. A dot before a name without dots limits it to the top of a
    record: fields with that name further down are other fields."""
    return [name if "." in name else f".{name}" for name in (field.name, *field.sources)]
