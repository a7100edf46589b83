"""Cuts a text after whole sentences, in any script, with the sentencex library."""

import regex

from context_protection.core.splitting.segments import segments

_GRAPHEMES = regex.compile(r"\X")
WINDOW = 4000  # characters before the limit in which the end of a sentence is searched


def head(text: str, limit: int) -> str:
    """The whole sentences at the start of `text` that fit into `limit` characters, without trailing space. If the first
    sentence does not fit, its first words; if no word fits, its first graphemes."""
    return text[: piece_end(text, limit)].rstrip()


def whole_sentences(text: str, limit: int) -> str:
    """The whole sentences at the start of a longer `text` that fit into `limit` characters; empty if none does."""
    return text[: _sentence_end(text[: limit + 1], limit)].rstrip()


def piece_end(text: str, limit: int) -> int:
    """The end of a piece of at most `limit` characters: after a sentence, or else after a word. More than 0; the length
    of the text if all of it fits."""
    if len(text) <= limit:
        return len(text)
    return _sentence_end(text[: limit + 1], limit) or word_end(text, limit)


def _sentence_end(window: str, limit: int) -> int:
    """The end of the last whole sentence in `window`; 0 if there is none. The final sentence counts as incomplete."""
    start = max(0, limit - WINDOW)
    ends, end = [0], start
    for sentence in segments("en", window[start:]):
        end += len(sentence)
        ends.append(end)
    return max((end for end in ends[:-1] if end <= limit), default=0)


def word_end(text: str, limit: int) -> int:
    """The last offset up to `limit` that splits neither a word nor a grapheme; at least 1."""
    if len(text) <= limit:
        return len(text)
    space = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit))
    if space > limit // 2:
        return space + 1
    start = max(0, limit - 64)
    ends = [start + match.end() for match in _GRAPHEMES.finditer(text[start : limit + 64])]
    return max((end for end in ends if end <= limit), default=max(1, limit))
