"""Text from banks: no sentence twice in a text, and every {slot} filled with a word drawn for it."""

import re
from collections.abc import Mapping, Sequence
from random import Random

Words = Mapping[str, Sequence[str]]


def words(text: str) -> list[str]:
    """The words of a text: its parts between spaces or line breaks."""
    return text.split()


def lines(text: str) -> tuple[str, ...]:
    """A bank: one sentence a line; an indented line goes on with the sentence above it."""
    return tuple(re.sub(r"\n +", " ", text).strip().splitlines())


class _Slots(dict[str, str]):
    """The known slots of a text; any other slot is drawn anew each time it is met."""

    def __init__(self, rng: Random, words: Words, known: Mapping[str, str]) -> None:
        super().__init__(known)
        self._rng = rng
        self._words = words

    def __missing__(self, slot: str) -> str:
        return self._rng.choice(self._words[slot])


class Writer:
    """Fills sentences with the words of one kind of text."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def fill(self, rng: Random, sentence: str, **known: str) -> str:
        return sentence.format_map(_Slots(rng, self._words, known))

    def sentences(self, rng: Random, bank: Sequence[str], count: int, **known: str) -> list[str]:
        """`count` different sentences of the bank, filled."""
        return [self.fill(rng, sentence, **known) for sentence in rng.sample(bank, count)]

    def text(self, rng: Random, bank: Sequence[str], count: int, **known: str) -> str:
        """`count` sentences in paragraphs of three to five."""
        return in_paragraphs(rng, self.sentences(rng, bank, count, **known))

    def text_of_length(self, rng: Random, bank: Sequence[str], length: int, **known: str) -> str:
        """Sentences until `length` characters are reached; less if the bank is too small."""
        chosen: list[str] = []
        for sentence in self.sentences(rng, bank, len(bank), **known):
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
