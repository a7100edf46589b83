"""Where sentences end, in any script (by the sentencex library)."""

import regex
from sentencex import segment

_GRAPHEMES = regex.compile(r"\X")
WINDOW = 4000  # characters before the limit in which a sentence's end is looked for


def head(text: str, limit: int) -> str:
    """The whole sentences at the start of `text` that fit into `limit` characters, without trailing space. If not
    even the first fits: its words, and for a text without words its first characters as people count them."""
    return text[: piece_end(text, limit)].rstrip()


def piece_end(text: str, limit: int) -> int:
    """The offset at which a piece of at most `limit` characters ends: after a sentence, or else after a word. More
    than 0, and the text's length if all of it fits."""
    if len(text) <= limit:
        return len(text)
    return _sentence_end(text[: limit + 1], limit) or word_end(text, limit)


def _sentence_end(window: str, limit: int) -> int:
    """The end of the last whole sentence in `window`, whose last one goes on behind it; 0 when there is none."""
    start = max(0, limit - WINDOW)
    ends, end = [0], start
    for sentence in segment("en", window[start:]):
        end += len(sentence)
        ends.append(end)
    return max((end for end in ends[:-1] if end <= limit), default=0)


def word_end(text: str, limit: int) -> int:
    """The last offset up to `limit` at which no word and no character as people count them is cut; at least 1."""
    if len(text) <= limit:
        return len(text)
    space = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit))
    if space > limit // 2:
        return space + 1
    start = max(0, limit - 64)
    ends = [start + match.end() for match in _GRAPHEMES.finditer(text[start : limit + 64])]
    return max((end for end in ends if end <= limit), default=max(1, limit))
