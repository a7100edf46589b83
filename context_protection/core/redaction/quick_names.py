"""Finds the few names of fields that may mean something. Most names mean nothing: in a large object, they are data."""

from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, compress

from ahocorasick_rs import BytesAhoCorasick, Implementation

from context_protection.core.redaction import pairs, terms, vocabulary
from context_protection.core.redaction.folding import LONGEST_NAME, lines_of_words
from context_protection.core.redaction.names import WHOLE

# The folded names that mean something as a whole. They are compared without spaces: `CODEs` has the words `cod es`.
_MEANINGS = frozenset(
    name.encode()
    for names in (pairs.NAMES, vocabulary.MEASURED, vocabulary.VALUE_NAMES, terms.CODE_NAMES, WHOLE)
    for name in names
)


def may_mean_something(names: Sequence[str]) -> list[str]:
    """The names that, below any holder, may mean something for their values, for the fields below them, or for the
    object; in order."""
    words = lines_of_words(names)
    wholes = words.replace(b" ", b"").split(b"\n")
    found = set(compress(range(len(names)), map(_MEANINGS.__contains__, wholes)))
    if max(map(len, names), default=0) > LONGEST_NAME:
        found.update(at for at, name in enumerate(names) if len(name) > LONGEST_NAME)
    found.update(_with_an_opening(words))
    return [names[at] for at in sorted(found)]


def _with_an_opening(words: bytes) -> Iterator[int]:
    """The lines in which a term may begin."""
    found = _openings().find_matches_as_indexes(words)
    ends = list(accumulate(len(line) + 1 for line in words.split(b"\n"))) if found else []
    for _, start, _ in found:
        yield bisect(ends, start)


@cache
def _openings() -> BytesAhoCorasick:
    return BytesAhoCorasick(sorted(terms.openings_in_names()), implementation=Implementation.DFA)
