"""Generates texts from banks of sentences: each sentence occurs once, and a random word replaces each {slot}."""

import re
from collections.abc import Mapping, Sequence
from random import Random

Words = Mapping[str, Sequence[str]]


def words(text: str) -> list[str]:
    return text.split()


def lines(text: str) -> tuple[str, ...]:
    """A bank, with one sentence per line. An indented line continues the sentence above it."""
    return tuple(re.sub(r"\n +", " ", text).strip().splitlines())


class _Slots(dict[str, str]):
    """The values of slots. A slot without a value gets a new random word each time."""

    def __init__(self, rng: Random, words: Words, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self._rng = rng
        self._words = words

    def __missing__(self, slot: str) -> str:
        return self._rng.choice(self._words[slot])


class Writer:
    """Fills the slots of sentences. Keyword arguments are the values of slots."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def fill(self, rng: Random, sentence: str, **values: str) -> str:
        return sentence.format_map(_Slots(rng, self._words, values))

    def sentences(self, rng: Random, bank: Sequence[str], count: int, **values: str) -> list[str]:
        """`count` different sentences of the bank."""
        return [self.fill(rng, sentence, **values) for sentence in rng.sample(bank, count)]

    def text(self, rng: Random, bank: Sequence[str], count: int, **values: str) -> str:
        """`count` sentences in paragraphs of three to five."""
        return in_paragraphs(rng, self.sentences(rng, bank, count, **values))

    def text_of_length(self, rng: Random, bank: Sequence[str], length: int, **values: str) -> str:
        """Sentences until they have `length` characters; fewer if the bank is too small."""
        chosen: list[str] = []
        for sentence in self.sentences(rng, bank, len(bank), **values):
            if sum(map(len, chosen)) + len(chosen) >= length:
                break
            chosen.append(sentence)
        return in_paragraphs(rng, chosen)


def in_paragraphs(rng: Random, sentences: Sequence[str]) -> str:
    paragraphs = []
    start = 0
    while start < len(sentences):
        size = rng.randint(3, 5)
        paragraphs.append(" ".join(sentences[start : start + size]))
        start += size
    return "\n\n".join(paragraphs)
