"""Sections for records of an unknown type: a large value is its own section; names that share a word form a section."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from glob import escape
from itertools import chain, islice
from typing import Any

from context_protection.core.name_words import can_be_a_section, word_set, words
from context_protection.core.shapes import NOTHING, REST_OF_THE_RECORD, Section
from context_protection.core.tokens import formula_of_length

LARGE_CHARS = 400  # characters of compact JSON; a larger object or array is a section of its own
LARGE_SECTION = 2000  # tokens by the formula; a larger section is divided if its names allow it
MAX_NAMES = 1000  # top-level names that are examined
SAMPLES = 10  # values of a name that are measured; their average is its size
FEWEST = 3  # minimum number of names in a group
MAX_ALONE, MAX_GROUPS, MOST = 24, 12, 38  # sections; a preview can list MOST of them and the rest of the record
_MEASURED = 600  # characters of a value after which measuring stops
# Words that unrelated names share.
_EMPTY_WORDS = word_set("a an all are at by can does for has id ids in is no not of on other the to was with")


def sections(records: Sequence[Mapping[str, Any]]) -> tuple[Section, ...]:
    """The sections of these records. Names that match no section, even unseen ones, belong to the rest of the
    record."""
    sizes = _sizes(records)
    large = [
        name for name in sizes if sizes[name] > LARGE_CHARS and _is_nested(name, records) and _may_be_a_section(name)
    ]
    alone = large[:MAX_ALONE]
    if len(sizes) == MAX_NAMES:
        return tuple(map(_alone, alone))  # a record with so many names is a map: its keys are data and share no words
    small = [name for name in sizes if name not in set(alone)]
    return (*map(_alone, alone), *_grouped(small, sizes))[:MOST]


# -- Large values -----------------------------------------------------------------------------------


def _sizes(records: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The average length, in characters, of each top-level name's non-empty values, in order of first appearance."""
    found: dict[str, list[int]] = {}
    for record in records:
        for name, value in islice(record.items(), MAX_NAMES):
            if name not in found and len(found) == MAX_NAMES:
                continue
            sizes = found.setdefault(name, [])
            if len(sizes) < SAMPLES and value not in NOTHING:
                sizes.append(measure(value))
    return {name: sum(sizes) / max(len(sizes), 1) for name, sizes in found.items()}


def measure(value: Any) -> int:
    """The approximate length of `value` as compact JSON, in characters. Counting stops above `_MEASURED`."""
    if not isinstance(value, (dict, list)):
        return _scalar_chars(value)
    total, waiting = 0, [value]
    while waiting and total <= _MEASURED:
        each = waiting.pop()
        if isinstance(each, dict):
            total += 2 + sum(len(name) + 4 for name in islice(each, _MEASURED))
            waiting.extend(islice(each.values(), _MEASURED))
        elif isinstance(each, list):
            total += 2 + len(each)
            waiting.extend(islice(each, _MEASURED))
        else:
            total += _scalar_chars(each)
    return total


def _scalar_chars(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + 2
    return 5 if value is None or isinstance(value, bool) else len(str(value))


def _is_nested(name: str, records: Iterable[Mapping[str, Any]]) -> bool:
    return any(isinstance(record.get(name), (dict, list)) for record in records)


def _may_be_a_section(name: str) -> bool:
    return can_be_a_section(name) and name != REST_OF_THE_RECORD


def _alone(name: str) -> Section:
    return Section(name, (escape(name),))


# -- Groups -----------------------------------------------------------------------------------------


def _grouped(names: Sequence[str], sizes: Mapping[str, float]) -> list[Section]:
    """Groups names by shared words. The word that most names begin or end with forms the first group, and so on."""
    found: list[Section] = []
    remaining = {name: _ends(name) for name in names}
    while len(found) < MAX_GROUPS and (word := _most_shared(remaining.values())):
        members = [name for name, ends in remaining.items() if word in ends]
        remaining = {name: ends for name, ends in remaining.items() if word not in ends}
        used = {*sizes, *(section.name for section in found)}
        found += _divided(Section(_unused(word, used), _patterns(members, word)), members, sizes, used)
    return found + _large_alone(list(remaining), sizes)


def _ends(name: str) -> frozenset[str]:
    return _meaningful_ends(words(name))


@lru_cache(maxsize=8192)
def _meaningful_ends(found: tuple[str, ...]) -> frozenset[str]:
    """The first and the last word of a name, if they are meaningful."""
    return frozenset(word for word in (*found[:1], *found[-1:]) if _is_meaningful(word))


def _is_meaningful(word: str) -> bool:
    return len(word) > 1 and not word.isdigit() and word not in _EMPTY_WORDS and can_be_a_section(word)


def _most_shared(ends: Iterable[frozenset[str]]) -> str | None:
    """The word that most names share; None if too few do. Ties are broken alphabetically, because the order of a set
    differs between processes."""
    counts = Counter(chain.from_iterable(ends))
    word = min(counts, key=lambda each: (-counts[each], each), default=None)
    return word if word is not None and counts[word] >= FEWEST else None


def _unused(word: str, used: set[str]) -> str:
    name = word
    while name in used or name == REST_OF_THE_RECORD:
        name += "_fields"
    return name


def _patterns(members: Iterable[str], word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_pattern(name, word) for name in members))


def _pattern(name: str, word: str) -> str:
    """The pattern of names that begin or end with `word` in the same way; `name` itself if it is just the word."""
    start, following = name[: len(word)], name[len(word) : len(word) + 1]
    if start.lower() == word and following:
        if following in "_-":
            return f"{start}{following}*"
        if following.isupper():
            return f"{start}[A-Z]*"
    end, before = name[-len(word) :], name[: -len(word)][-1:]
    if end.lower() == word and before:
        if before in "_-":
            return f"*{before}{end}"
        if end[0].isupper():
            return f"*{end}"
    return escape(name)


# -- Sections that are too large --------------------------------------------------------------------


def _divided(section: Section, members: list[str], sizes: Mapping[str, float], used: set[str]) -> list[Section]:
    """The section, preceded by smaller ones if it is too large: for names that also share a second word, and for names
    with large values."""
    if not _is_too_large(members, sizes):
        return [section]
    seconds: dict[str, list[str]] = {}
    for name in members:
        seconds.setdefault(" ".join(words(name)[:2]), []).append(name)
    shared = [names for names in seconds.values() if FEWEST <= len(names) < len(members)]
    parts = [Section(_unused("_".join(words(names[0])[:2]), used), tuple(map(escape, names))) for names in shared]
    parted = {name for names in shared for name in names}
    rest = [name for name in members if name not in parted]
    return [*parts, *_large_alone(rest, sizes), section]


def _large_alone(names: list[str], sizes: Mapping[str, float]) -> list[Section]:
    """One section per name with large values, if all `names` together are too large."""
    large = [name for name in names if sizes[name] > LARGE_CHARS and _may_be_a_section(name)]
    return [_alone(name) for name in large] if _is_too_large(names, sizes) else []


def _is_too_large(names: Iterable[str], sizes: Mapping[str, float]) -> bool:
    return formula_of_length(int(sum(sizes[name] + len(name) + 4 for name in names))) > LARGE_SECTION
