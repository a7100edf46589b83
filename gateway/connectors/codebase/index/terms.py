"""Terms: what the index counts. A text is split into words. A compound identifier gives a term for the whole and one
for each of its parts. Parts are stemmed.

`getUserName` gives `=getusername get user name`, and `running` gives `run`.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

import snowballstemmer

WORD = re.compile(r"\w+")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\dA-Za-z_]+")
LONGEST = 64  # characters; longer words are data, and have no terms
KEPT_WORDS = 50_000  # words whose terms are cached, which takes about 20 MB

# Words of questions and bug reports that say nothing about the code.
ASKING = frozenset(
    WORD.findall(
        "a about all also an and any are as at be been but by can could did do does doesn don each every find fix "
        "fixed fixes fixing for from get had has have how i if in into is isn it its just let ll make makes may me "
        "more must my no not now of on only or other our out re s same shall should show so some such t than that "
        "the their them then there these they this those to too up use used uses using ve very want was we were "
        "what when where which while who why will with without would you your bug bugs issue issues "
    )
)

# Stems are cached, because identifiers share their parts, and stemming a part takes as long as a hundred look-ups.
_stem = lru_cache(KEPT_WORDS)(snowballstemmer.stemmer("english").stemWord)


def parts_of(word: str) -> list[str]:
    """The words inside an identifier, in lower case and not stemmed. A change of case splits a word in every alphabet
    that has cases."""
    shape = word if word.isascii() else "".join(map(_cased, word))
    return [word[part.start() : part.end()].lower() for part in PART.finditer(shape)]


def _cased(letter: str) -> str:
    """An ASCII letter of the same case; the letter itself if it has no case."""
    return "A" if letter.isupper() else "a" if letter.islower() else letter


class _Terms(dict[str, str]):
    """Word → its terms, joined by spaces. Files repeat the same words, so most are found in this cache."""

    def __missing__(self, word: str) -> str:
        if len(self) >= KEPT_WORDS:
            self.clear()
        self[word] = terms = " ".join(_terms_of_word(word))
        return terms


def _terms_of_word(word: str) -> list[str]:
    if len(word) > LONGEST:
        return []
    parts = parts_of(word)
    terms = [_stem(part) for part in parts if len(part) > 1]
    return terms if len(parts) < 2 else [f"={word.lower()}", *terms]


_TERMS = _Terms()


def terms_of(text: str) -> str:
    """All terms of the text in their order, joined by spaces as FTS5 expects them."""
    lookup = _TERMS
    return " ".join(filter(None, [lookup[word] for word in WORD.findall(text)]))


def length_of(terms: str) -> int:
    """The number of terms."""
    return len(terms.split())


def question_terms(question: str) -> tuple[str, ...]:
    """The distinct terms to search for: those of the words that are not in ASKING, or of all words if every one is in
    ASKING."""
    words = WORD.findall(question)
    return _different([word for word in words if word.lower() not in ASKING]) or _different(words)


def _different(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term for word in words for term in _TERMS[word].split()))
