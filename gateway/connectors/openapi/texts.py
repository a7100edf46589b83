"""Descriptions for tool lists: one or two plain sentences, without Markdown or HTML."""

import html
import re
from typing import Any

from context_protection.core.splitting import sentences

LONGEST_READ = 4000  # characters of a description that are read
SENTENCE_READ = 800  # the same, if one sentence is wanted
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_BREAK = re.compile(r"</?(?:p|br|li|ul|ol|div|h[1-6]|tr|table)\b[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+[^\n]*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+]|\d+\.)[ \t]+", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>+[ \t]*(?:\[![A-Z]+\])?", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_])", re.DOTALL)
_MARKS = "<>&[#*_`-+"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def plain_text(markup: Any) -> str:
    """The text on one line, without markup."""
    if not isinstance(markup, str):
        return ""
    text = markup[:LONGEST_READ]
    if any(mark in text for mark in _MARKS):
        text = _without_markup(text)
    text = " ".join(text.split())
    return text if text.isprintable() else _CONTROL.sub("", text).strip()


def _without_markup(markup: str) -> str:
    text = _TAG.sub("", _BREAK.sub("\n", _FENCE.sub(" ", markup)))
    text = _LINK.sub(r"\1", _IMAGE.sub("", html.unescape(text)))
    without_headings = _HEADING.sub("", text)
    text = without_headings if without_headings.strip() else text.replace("#", "")
    return _EMPHASIS.sub(r"\2", _BULLET.sub("", _QUOTE.sub("", text))).replace("`", "")


def opening(markup: Any, limit: int) -> str:
    """As many whole sentences from the beginning as fit into `limit` characters; the first words if none fits."""
    text = plain_text(markup)
    if len(text) <= limit:
        return text
    head = sentences.head(text, limit)
    return (
        head
        if head.endswith((".", "!", "?", "。"))
        else f"{text[: sentences.word_end(text, limit - 1)].rstrip(' ,;:')}…"
    )


def first_sentence(markup: Any, limit: int) -> str:
    """The first sentence alone, within `limit` characters."""
    text = plain_text(markup[:SENTENCE_READ] if isinstance(markup, str) else "")
    match = re.match(r".{8,}?[.!?](?= [A-Z(\"'])", text)
    return opening(match[0] if match and not match[0].endswith(("e.g.", "i.e.", "etc.")) else text, limit)
