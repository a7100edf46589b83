"""The finest boundaries: words, graphemes (user-perceived characters), code points."""

import regex

_WORD_END = r"(?<=\s)(?=[^\s\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}])"
_NEXT_WORD_END, _LAST_WORD_END = regex.compile(_WORD_END), regex.compile("(?r)" + _WORD_END)
_GRAPHEME = regex.compile(r"\X")
_PLAIN = r"[\p{GCB=Other}--\p{ExtPict}]"  # a grapheme always ends between two of these
_LAST_PLAIN_PAIR = regex.compile(rf"(?V1)(?r){_PLAIN}(?={_PLAIN})")


class Words:
    def __init__(self, text: str, stop: int) -> None:
        self.text, self.stop = text, stop

    def last(self, after: int, room: int) -> int | None:
        match = _LAST_WORD_END.search(self.text, after + 1, min(room + 1, self.stop))
        return match.start() if match else None

    def first(self, after: int) -> int:
        match = _NEXT_WORD_END.search(self.text, after + 1, self.stop)
        return match.start() if match else self.stop


class Graphemes:
    """User-perceived characters: a family emoji, a letter with its accents, "\r\n"."""

    def __init__(self, text: str, stop: int) -> None:
        self.text, self.stop = text, stop

    def last(self, after: int, room: int) -> int | None:
        at = grapheme_start(self.text, after, room)
        return at if at > after else None

    def first(self, after: int) -> int:
        match = _GRAPHEME.match(self.text, after, self.stop)
        return match.end() if match else self.stop


def grapheme_start(text: str, after: int, at: int) -> int:
    """The last offset up to `at` that is not inside a grapheme of `text[after:]`."""
    pair = text[at - 1 : at + 1]
    if pair.isascii():
        return at if pair != "\r\n" else at - 1
    plain = _LAST_PLAIN_PAIR.search(text, after, at)  # avoids reading from `after` for every cut
    starts = [match.start() for match in _GRAPHEME.finditer(text, plain.end() if plain else after, at + 1)]
    return starts[-1] if starts else at


class CodePoints:
    """The last resort: a grapheme may be a megabyte of accents, but the cap applies to it too."""

    def __init__(self, text: str) -> None:
        self.text = text

    def last(self, after: int, room: int) -> int | None:
        at = room - (self.text[room - 1 : room + 1] == "\r\n")
        return at if at > after else None

    def first(self, after: int) -> int:
        return after + 1 + (self.text[after : after + 2] == "\r\n")
