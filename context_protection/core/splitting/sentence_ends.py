"""Finds the ends of sentences with the sentencex library."""

from bisect import bisect_right

import regex

from context_protection.core.splitting.characters import grapheme_start
from context_protection.core.splitting.segments import segments

# sentencex takes quadratic time outside ASCII, so it reads windows of a text. An end counts only if the window contains
# the text after it, where a quotation may close, and, if the window begins inside a sentence, also the text before it.
_WINDOW, _AHEAD, _BEFORE = 2400, 400, 100
_SCRIPTS = {"ru": "Cyrillic", "el": "Greek", "hy": "Armenian"}
_LETTERS = {language: regex.compile(rf"\p{{{script}}}") for language, script in _SCRIPTS.items()}
_COMMON_WORDS = {
    "en": "the and of to is in that for with are",
    "de": "der die und das ist nicht mit ein zu auf",
    "fr": "le les des est et une dans pour du vous",
    "es": "el los las que una con para por y del",
    "it": "il che di per una con sono della gli non",
    "nl": "het een van en niet met zijn voor op te",
    "pl": "i w na się nie jest do że oraz dla",
    "pt": "o os um uma não com para em da do",
}
_WORDS = {language: frozenset(words.split()) for language, words in _COMMON_WORDS.items()}
# Thai and Lao end sentences with a space; sentencex does not know the stops of Khmer and Tibetan.
_MORE_ENDS = regex.compile(r"(?V1)(?<=[\p{Thai}\p{Lao}--[ๆฯໆ]])[ \u00a0]+(?=[\p{Thai}\p{Lao}])|[។៕།༎]+\s*")


class Sentences:
    """The ends of the sentences in `text[start:stop]`, found lazily. The last sentence ends at `stop`, after any blank
    lines."""

    def __init__(self, text: str, start: int, stop: int) -> None:
        self.text, self.stop = text, stop
        self.text_end = start + len(text[start:stop].rstrip())
        self.window_at = self.seen_to = start
        self.ends: list[int] = []
        self.language = _language(text[start : min(stop, start + _WINDOW)])

    def last(self, after: int, room: int) -> int | None:
        while self.seen_to < min(room, self.text_end):
            self._read_window()
        index = bisect_right(self.ends, room)
        return self.ends[index - 1] if index and self.ends[index - 1] > after else None

    def first(self, after: int) -> int:
        while self.seen_to < self.text_end and (not self.ends or self.ends[-1] <= after):
            self._read_window()
        index = bisect_right(self.ends, after)
        return self.ends[index] if index < len(self.ends) else self.stop

    def _read_window(self) -> None:
        end = min(self.window_at + _WINDOW, self.text_end)
        sure_to = end if end == self.text_end else end - _AHEAD
        sure_from = self.window_at + (_BEFORE if self.window_at != self.seen_to else 0)
        found = [at for at in self._ends_within(self.window_at, end) if sure_from < at <= sure_to]
        self.ends += found
        self.seen_to = found[-1] if found and end < self.text_end else sure_to
        self.window_at = self.seen_to if found else sure_to - _BEFORE

    def _ends_within(self, start: int, end: int) -> list[int]:
        window = _for_sentencex(self.text[start:end])
        for mark in "\"'":
            if end < self.text_end and window.count(mark) % 2:  # else sentencex ignores every quotation
                opening = window.rfind(mark, len(window) - _AHEAD)
                window = window[:opening] if opening > 0 else window
        ends = _ends_in("en", window)
        if self.language != "en":
            ends &= _ends_in(self.language, window)  # both must agree, since any text may contain English phrases
        if not window.isascii():
            stops = _MORE_ENDS.finditer(self.text, start, start + len(window))
            ends.update(stop.end() - start for stop in stops)
        return sorted(start + at for at in ends if 0 < at < len(window) and _may_end(self.text, start + at))


def _for_sentencex(text: str) -> str:
    """Prepares a text for sentencex, without a change of length. Replaces lone surrogates, which sentencex does not
    accept, and line ends, from which it guesses lists: a block is at most one list item, and a wrapped line may begin
    with "2026."."""
    return text.encode("utf-8", "replace").decode().replace("\r", " ").replace("\n", " ")


def _ends_in(language: str, window: str) -> set[int]:
    ends: set[int] = set()
    at = 0
    for sentence in segments(language, window):
        at = max(at, window.find(sentence, at)) + len(sentence)  # sentencex may omit white space between sentences
        ends.add(at)
    return ends


_NUMBER = regex.compile(r"(?r)(?<![^\n])[\s>]*[\d.]+[.)]\s+")  # matched backwards


def _may_end(text: str, at: int) -> bool:
    """Whether a sentence can end here. Rejects ends that sentencex wrongly finds: in "example.Com", after the "5." that
    begins a paragraph, inside a grapheme."""
    before, behind = text[at - 1], text[at]
    in_word = before.isascii() and behind.isascii() and not before.isspace() and not behind.isspace()
    recent = max(0, at - 64)
    return not in_word and not _NUMBER.match(text, recent, at) and grapheme_start(text, recent, at) == at


def _language(text: str) -> str:
    """The language whose abbreviations count ("z. B.", "т. д."), guessed from script and common words."""
    for language, letter in _LETTERS.items():
        if not text.isascii() and len(letter.findall(text)) * 3 > len(text):
            return language
    words = text.lower().split()
    return max(_WORDS, key=lambda language: sum(word in _WORDS[language] for word in words))
