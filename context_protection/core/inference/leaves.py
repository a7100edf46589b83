"""Leaves: the fields of records that may be proposed for previews, each with its values in all records."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from context_protection.core.inference import paths
from context_protection.core.inference.groups import measure
from context_protection.core.name_words import words
from context_protection.core.shapes import NOTHING

MAX_PATHS = 250  # paths that are examined
FEW = 8  # with fewer values, equal ones may be a coincidence
# ISO 8601, RFC 2822, and the format of older Microsoft servers
_DATE_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}|(?:\w{3}, )?\d{1,2} \w{3} \d{4}\b|/Date\(-?\d{9,}")
_LINK = re.compile(r"[a-z]{2,8}://|/[\w/]+$")
_DIGITS = re.compile(r"-?\d+(\.\d+)?")
# At least 12 characters without a space, among them four digits and a letter: probably a hash, an etag or an internal
# id.
_OPAQUE = re.compile(r"(?=(?:\D*\d){4})(?=[^A-Za-z]*[A-Za-z])[\w\"'+/:|=~-]{12,}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """A path, and its value in each record: None if a record has none. `filled`: the values that are not empty."""

    path: str
    values: Sequence[Any]
    filled: Sequence[Any]
    words: tuple[str, ...]  # words of the step that names the value: the last one, except for formatted text
    kinds: frozenset[str]  # the forms of the first FEW filled values
    chars: float  # average length of the filled values, as compact JSON
    central: int  # number of paths that begin with the same word
    required: bool
    enumerated: bool
    below: bool  # whether it belongs to a related object

    @property
    def last(self) -> str:
        return self.words[-1] if self.words else ""

    @property
    def holder(self) -> tuple[str, ...]:
        """The words of the step before the path's last one."""
        return words(self.path.rpartition(".")[0].rpartition(".")[2])

    @property
    def distinct(self) -> int:
        return len(set(map(str, self.filled)))

    @property
    def is_constant(self) -> bool:
        return len(self.filled) >= FEW and self.distinct == 1

    @property
    def is_rare(self) -> bool:
        return 2 * len(self.filled) < len(self.values)

    @property
    def is_blank(self) -> bool:
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
    if _DIGITS.fullmatch(value[:40]):
        return "digits"
    return "link" if _LINK.match(value) else "opaque" if _OPAQUE.fullmatch(value[:80]) else "text"


def leaves(
    records: Sequence[Mapping[str, Any]], required: frozenset[str], enumerations: frozenset[str]
) -> Iterator[Leaf]:
    """The leaves of the records. `required`: the paths that a schema declares as required; `enumerations`: those that
    it declares as enumerations."""
    columns: dict[str, dict[int, Any]] = {}
    below: dict[str, bool] = {}
    wrappers = paths.wrappers_of(records)
    for index, record in enumerate(records):
        for each in islice(paths.plain_values(record, wrappers), MAX_PATHS):
            if each.path in columns or len(columns) < MAX_PATHS:
                columns.setdefault(each.path, {})[index] = each.value
                below[each.path] = each.below
    first_words = Counter(words(path)[:1] for path in columns)
    for path, column in columns.items():
        values = [column.get(index) for index in range(len(records))]
        filled = [value for value in values if value not in NOTHING]
        yield Leaf(
            path=path,
            values=values,
            filled=filled,
            words=words(_naming_step(path)),
            kinds=frozenset(map(_kind, filled[:FEW])),
            chars=sum(map(measure, filled)) / max(len(filled), 1),
            central=first_words[words(path)[:1]],
            required=path in required,
            enumerated=path in enumerations,
            below=below[path],
        )


def _naming_step(path: str) -> str:
    """The path's last step; for formatted text, the step that names the text."""
    above, _, last = path.rpartition(".")
    return above.removesuffix(".*").rpartition(".")[2] if last == paths.RICH_TEXT else last
