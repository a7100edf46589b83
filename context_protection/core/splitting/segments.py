"""Divides a text into sentences with the sentencex library; all code that needs sentences uses this module."""

import re
from collections.abc import Iterator
from typing import Final

from sentencex import segment

_WIDE_SPACE: Final = re.compile(r"[^\S\x00-\x7f]")


def segments(language: str, text: str) -> Iterator[str]:
    """The sentences of the text, which together are the whole text.

    sentencex panics on a single letter before a space of several bytes and a stop ("Vitamin A\\u00a0."), and a panic is
    not an Exception, so it would end the caller's connection. Such spaces are therefore replaced before it reads
    them."""
    if text.isascii():
        yield from segment(language, text)
        return
    at = 0
    for sentence in segment(language, _WIDE_SPACE.sub(" ", text)):
        yield text[at : at + len(sentence)]
        at += len(sentence)
