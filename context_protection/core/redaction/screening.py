"""Skips the elements of a list that surely hold no secret, so that only the others are searched one by one.

The rows of a list usually have the same fields. Each field is examined for all rows at once, which takes a fraction of
the time: its name, the types of its values, and its texts joined into one.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, chain, compress, groupby, repeat
from operator import is_, itemgetter
from typing import Any

from context_protection.core.redaction import harmless, pairs
from context_protection.core.redaction.names import holder_below, label_kind, place_kind
from context_protection.core.redaction.objects import SCALARS, fields_of, holder_of

_TEXT = frozenset({str})
_NESTED = frozenset({dict, list})
FEW = 8  # objects whose columns are so short that their texts are searched together
DEEPEST = 20  # levels that are screened; all deeper values are searched


def suspects(elements: Sequence[Any], *, within: str, custom: bool, depth: int = 0) -> Iterable[int]:
    """The indexes of the elements in which a search may find something, under the built-in rules. `within`, `custom`:
    as in objects.fields_of."""
    kinds = set(map(type, elements))
    if kinds <= SCALARS:
        return ()
    if depth > DEEPEST:
        return range(len(elements))
    if len(kinds) > 1:
        return _by_kind(elements, kinds - SCALARS, within, custom, depth)
    kind = kinds.pop()
    if kind is str:
        return harmless.suspects_among(elements)
    if kind is dict:
        return _objects(elements, within, custom, depth)
    if kind is list:
        return _lists(elements, within, custom, depth)
    return range(len(elements))


def _by_kind(elements: Sequence[Any], kinds: set[type], within: str, custom: bool, depth: int) -> set[int]:
    found: set[int] = set()
    types = list(map(type, elements))
    for kind in kinds:
        places = list(compress(range(len(elements)), map(is_, types, repeat(kind))))
        some = list(map(elements.__getitem__, places))
        found.update(places[at] for at in suspects(some, within=within, custom=custom, depth=depth))
    return found


def _objects(objects: Sequence[dict[str, Any]], within: str, custom: bool, depth: int) -> Iterable[int]:
    forms = list(map(tuple, objects))
    by_names: dict[tuple[str, ...], list[int]] = {}
    for names, places in groupby(range(len(objects)), key=forms.__getitem__):  # equal forms usually stand together
        by_names.setdefault(names, []).extend(places)
    if len(by_names) == 1:  # true of most lists
        return _of_one_form(forms[0], objects, within, custom, depth)
    found: set[int] = set()
    for names, at_places in by_names.items():
        some = list(map(objects.__getitem__, at_places))
        found.update(at_places[at] for at in _of_one_form(names, some, within, custom, depth))
    return found


def _of_one_form(
    names: tuple[str, ...], objects: Sequence[dict[str, Any]], within: str, custom: bool, depth: int
) -> Iterable[int]:
    fields = fields_of(names, within=within, custom=custom)
    if fields.may_be_table:
        return range(len(objects))
    found: set[int] = set()
    if fields.values:
        for name in fields.labels:
            found.update(_with_secret_label(objects, name))
    # Columns whose values have the same fields are searched together: a map has such a column for each key.
    alike: dict[tuple[str, bool, object], list[Sequence[Any]]] = {}
    texts: list[str] = []  # of all columns, if the objects are few
    for name, field, column in zip(names, fields.each, zip(*map(dict.values, objects), strict=True), strict=False):
        kinds = set(map(type, column))
        if field.is_named and not (field.is_only_place and kinds <= _NESTED):
            found.update(at for at, each in enumerate(column) if not _is_empty(each))
        elif kinds == _TEXT and len(objects) <= FEW:
            texts += column
        elif kinds == _TEXT:
            found.update(harmless.suspects_among(column))
        elif not kinds <= SCALARS:
            below = holder_of(holder_below(within, name))
            alike.setdefault((below, field.is_custom, _form(column[0])), []).append(column)
    found.update(at % len(objects) for at in harmless.suspects_among(texts))
    for (below, is_custom, _), columns in alike.items():
        every = columns[0] if len(columns) == 1 else list(chain.from_iterable(columns))
        of_all = suspects(every, within=below, custom=is_custom, depth=depth + 1)
        found.update(at % len(objects) for at in of_all)
    return found


def _form(value: Any) -> object:
    """Equal for objects with the same fields, and for other values of the same type."""
    return tuple(value) if type(value) is dict else type(value)


def _with_secret_label(objects: Sequence[dict[str, Any]], name: str) -> Iterable[int]:
    """The places of the name/value pairs whose label, in the field `name` or below it, names a secret."""
    column = list(map(itemgetter(name), objects))
    if set(map(type, column)) == {str}:
        secrets = _secrets_among(set(column))
        return [at for at, label in enumerate(column) if label in secrets] if secrets else ()
    return [at for at, each in enumerate(objects) if _secrets_among(set(pairs.labels_of(each, [name])))]


def _secrets_among(labels: set[str]) -> set[str]:
    """The labels that name a secret."""
    if labels and max(map(len, labels)) > pairs.LONGEST_LABEL:
        labels = {label for label in labels if len(label) <= pairs.LONGEST_LABEL}
    return set(filter(_is_kind_of_secret, labels))


def _is_empty(value: Any) -> bool:
    """Whether the value is never redacted, whatever its name."""
    return value is None or value is True or value is False or value == ""


@lru_cache(maxsize=2048)
def _is_kind_of_secret(label: str) -> bool:
    return (place_kind(label) or label_kind(label)) is not None


def _lists(lists: Sequence[list[Any]], within: str, custom: bool, depth: int) -> set[int]:
    lengths = list(map(len, lists))
    found: set[int] = set()
    if pairs.LENGTH in lengths:
        found.update(at for at, each in enumerate(lists) if pairs.may_be_pair(each) and _secrets_among({each[0]}))
    ends = list(accumulate(lengths))
    elements = list(chain.from_iterable(lists))
    found.update(bisect_right(ends, at) for at in suspects(elements, within=within, custom=custom, depth=depth + 1))
    return found
