"""Skips the elements of a list that surely hold no secret, so that only the others are searched one by one.

The objects below all elements are examined level by level. Those with the same fields are examined together, wherever
they are, which takes a fraction of the time: the names of their fields, the types of their values, and their texts.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, chain, compress, groupby, repeat
from operator import is_, itemgetter
from typing import Any

from context_protection.core.redaction import harmless, pairs
from context_protection.core.redaction.harmless import SearchedTexts
from context_protection.core.redaction.names import holder_below, label_kind, place_kind
from context_protection.core.redaction.objects import EXAMINABLE, NESTED, SCALARS, Fields, fields_of, holder_of

_TEXT = frozenset({str})
DEEPEST = 20  # levels that are screened; all deeper values are searched, since each level below screens its own again
FEW = 8  # objects with the same fields that are examined one by one
AT_ONCE = 1 << 17  # characters of the texts that are searched together, to bound memory


@dataclass(frozen=True, slots=True)
class Suspects:
    """The elements in which a search may find something, by their indexes. `fields`: the places of the fields of an
    object that have to be searched. `whole`: the elements that have to be searched whole."""

    whole: Set[int] = frozenset()
    fields: Mapping[int, Set[int]] = field(default_factory=dict)

    @property
    def every(self) -> Set[int]:
        return self.whole | self.fields.keys()


def suspects(elements: Sequence[Any], *, within: str, custom: bool, searched: SearchedTexts | None = None) -> Suspects:
    """The suspects among the elements, under the built-in rules. `within`, `custom`: as in objects.fields_of.
    `searched`: the texts of the same document that were searched already."""
    if SCALARS.issuperset(map(type, elements)):
        return Suspects()
    screening = _Screening(searched or SearchedTexts(), len(elements))
    screening.run(elements, within, custom)
    return screening.suspects()


class _Values:
    """Values, and for each the number of its owner."""

    __slots__ = ("owners", "values")

    def __init__(self, values: Iterable[Any] = (), owners: Iterable[int] = ()) -> None:
        self.values, self.owners = list(values), list(owners)

    def pairs(self) -> Iterable[tuple[Any, int]]:
        return zip(self.values, self.owners, strict=True)

    def add(self, values: Iterable[Any], owners: Iterable[int]) -> None:
        self.values.extend(values)
        self.owners.extend(owners)


class _Screening:
    """Numbers the owners of values: an element has its index, and the field at a `place` of the `count` elements has
    index + count * (place + 1).

    `_found`: the owners in which a search may find something. `_below`: the values of the next level, by the name of
    their holder and whether they are custom fields. `_texts`: those that are searched together at the end."""

    def __init__(self, searched: SearchedTexts, count: int) -> None:
        self._count = count
        self._found: set[int] = set()
        self._is_below = False  # whether the values are below the elements, and no longer the elements themselves
        self._searched = searched
        self._below: defaultdict[tuple[str, bool], _Values] = defaultdict(_Values)
        self._texts = _Values()

    def run(self, elements: Sequence[Any], within: str, custom: bool) -> None:
        self._screen(_Values(elements, range(len(elements))), within, custom)
        self._is_below = True
        for _ in range(DEEPEST):
            if not self._below:
                break
            level, self._below = self._below, defaultdict(_Values)
            for (holder, is_custom), each in level.items():
                self._screen(each, holder, is_custom)
        for each in self._below.values():
            self._found.update(owner for value, owner in each.pairs() if type(value) not in SCALARS)
        for some in _parts(self._texts.values):
            self._search(self._texts.values[some], self._texts.owners[some])

    def _screen(self, each: _Values, within: str, custom: bool) -> None:
        kinds = set(map(type, each.values))
        for kind in kinds - SCALARS:
            some = each
            if len(kinds) > 1:
                are_chosen = list(map(is_, map(type, each.values), repeat(kind)))
                some = _Values(compress(each.values, are_chosen), compress(each.owners, are_chosen))
            if kind is str:
                self._add(some.values, some.owners)
            elif kind is dict:
                self._objects(some, within, custom)
            elif kind is list:
                self._lists(some, within, custom)
            else:
                self._found.update(some.owners)

    def _add(self, texts: Sequence[str], owners: Sequence[int], offset: int = 0) -> None:
        if harmless.may_have_suspects(texts):
            self._texts.add(texts, self._moved(owners, offset))

    def suspects(self) -> Suspects:
        whole = {owner for owner in self._found if owner < self._count}
        fields: defaultdict[int, set[int]] = defaultdict(set)
        for owner in self._found - whole:
            place, index = divmod(owner, self._count)
            fields[index].add(place - 1)
        return Suspects(whole, fields)

    def _offset(self, place: int, fields: Fields) -> int:
        """The number to add to an object's owner for the value in its field at this place. 0 below the elements, where
        the owner stays the same, and in a name/value pair, which is searched whole: its label decides what the value
        means."""
        return 0 if self._is_below or (fields.values and fields.labels) else self._count * (place + 1)

    def _moved(self, owners: Sequence[int], offset: int) -> Sequence[int]:
        """The owners, with `offset` added to each."""
        if offset and len(owners) == self._count:  # all elements, in order
            return range(offset, offset + self._count)
        return [owner + offset for owner in owners] if offset else owners

    def _search(self, texts: Sequence[str], owners: Sequence[int]) -> None:
        if found := self._searched.suspects_among(texts):
            self._found.update(map(owners.__getitem__, found))

    def _lists(self, lists: _Values, within: str, custom: bool) -> None:
        lengths = list(map(len, lists.values))
        if pairs.LENGTH in lengths:
            self._found.update(
                owner for each, owner in lists.pairs() if pairs.may_be_pair(each) and _secrets_among({each[0]})
            )
        owners = chain.from_iterable(map(repeat, lists.owners, lengths))
        self._below[within, custom].add(chain.from_iterable(lists.values), owners)

    def _objects(self, objects: _Values, within: str, custom: bool) -> None:
        forms = list(map(tuple, objects.values))
        if forms.count(forms[0]) == len(forms):
            self._of_one_form(forms[0], objects, within, custom)
            return
        by_names: defaultdict[tuple[str, ...], _Values] = defaultdict(_Values)
        start = 0
        for names, run in groupby(forms):  # equal forms usually stand together
            end = start + len(list(run))
            by_names[names].add(objects.values[start:end], objects.owners[start:end])
            start = end
        for names, some in by_names.items():
            self._of_one_form(names, some, within, custom)

    def _of_one_form(self, names: tuple[str, ...], objects: _Values, within: str, custom: bool) -> None:
        fields = fields_of(names, within=within, custom=custom)
        if fields.may_be_table:
            self._found.update(objects.owners)
            return
        if fields.values:
            for name in fields.labels:
                self._found.update(map(objects.owners.__getitem__, _with_secret_label(objects.values, name)))
        if len(objects.values) > FEW:
            self._columns(names, fields, objects, within)
            return
        for each, owner in objects.pairs():
            self._object(names, fields, list(each.values()), owner, within)

    def _columns(self, names: tuple[str, ...], fields: Fields, objects: _Values, within: str) -> None:
        columns = zip(*map(dict.values, objects.values), strict=True)
        for at, (name, each, column) in enumerate(zip(names, fields.each, columns, strict=False)):
            kinds, offset = set(map(type, column)), self._offset(at, fields)
            if each.is_named and not (each.is_only_place and kinds <= NESTED):
                owners = self._moved(objects.owners, offset)
                self._found.update(owner for value, owner in zip(column, owners, strict=True) if not _is_empty(value))
            elif kinds == _TEXT:
                self._add(column, objects.owners, offset)
            elif not kinds <= SCALARS:
                holder = holder_of(holder_below(within, name))
                self._below[holder, each.is_custom].add(column, self._moved(objects.owners, offset))

    def _object(self, names: tuple[str, ...], fields: Fields, values: list[Any], owner: int, within: str) -> None:
        kinds = list(map(type, values))
        if not EXAMINABLE.issuperset(kinds):
            self._found.add(owner)
            return
        for at in fields.named:
            if fields.each[at].is_only_place and kinds[at] in NESTED:
                continue
            if not _is_empty(values[at]):
                self._found.add(owner + self._offset(at, fields))
            kinds[at] = type(None)  # what follows skips the value, as its name has decided
        texts = list(compress(range(len(kinds)), map(is_, kinds, repeat(str))))
        self._texts.add(map(values.__getitem__, texts), (owner + self._offset(at, fields) for at in texts))
        for at in compress(range(len(kinds)), map(NESTED.__contains__, kinds)):
            holder = "" if at in fields.plain else holder_of(holder_below(within, names[at]))
            self._below[holder, fields.each[at].is_custom].add((values[at],), (owner + self._offset(at, fields),))


def _parts(texts: Sequence[str]) -> Iterator[slice]:
    """Parts of the texts, each of at most AT_ONCE characters or of one text."""
    ends, start, taken = list(accumulate(map(len, texts))), 0, 0
    while start < len(texts):
        end = max(start + 1, bisect_right(ends, taken + AT_ONCE))
        yield slice(start, end)
        start, taken = end, ends[end - 1]


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
