"""Cheap tests of texts: most texts of a record are ids, dates, names and words, which hold no secret."""

import re
from collections.abc import Sequence

from context_protection.core.redaction.prose import redact_text

SHORT_TEXT = 64  # characters; texts up to this length are cached if they are harmless
MAX_HARMLESS = 8192  # cached texts
SHORTEST = 5  # characters of a text that may hold a secret
DOCUMENT = ("{", "[")  # the first character of a text that may itself be JSON

_DIGIT_OR_QUOTE = re.compile(r"""[0-9０-９"'„“”«»‘’‚‛]""").search
_LETTERS = re.compile(r"[^\W\d_]{3}").search
_DIVIDER = re.compile("[ :=>\n\t\u00a0]").search
# The same dividers, one by one. Searching a long text for each of them takes a tenth of the time.
_DIVIDERS = " :=>\n\t\u00a0"
_ASCII_DIGITS_AND_QUOTES = "0123456789\"'"
_BETWEEN = "\x00"  # joins texts: neither a divider nor a digit, letter or quote

# The rows of a list have many short texts in common. Only texts without a secret are cached.
known: set[str] = set()


def may_hold_secret(text: str) -> bool:
    """Whether the text may hold a name with its value, or be a JSON document."""
    return _may_hold_name_and_value(text) or text[:1] in DOCUMENT


def _may_hold_name_and_value(text: str) -> bool:
    if len(text) > SHORT_TEXT:
        return _has_divider_and_sign(text) and _LETTERS(text) is not None
    return bool(_DIVIDER(text) and _DIGIT_OR_QUOTE(text) and _LETTERS(text))


def redacted(text: str) -> tuple[str, tuple[str, ...]]:
    """The text without secrets, and their kinds, as redact_text returns them."""
    if not _may_hold_name_and_value(text):
        return text, ()
    if len(text) > SHORT_TEXT:
        return redact_text(text)
    if text in known:
        return text, ()
    changed, kinds = redact_text(text)
    if not kinds:
        if len(known) >= MAX_HARMLESS:
            known.clear()
        known.add(text)
    return changed, kinds


def suspects_among(texts: Sequence[str]) -> Sequence[int]:
    """The indexes of the texts that hold a secret or may be JSON documents."""
    joined = _BETWEEN.join(texts)
    if not _has_divider_and_sign(joined) and not any(map(joined.__contains__, DOCUMENT)):
        return ()
    found = set(filter(_is_suspect, set(texts) - known))
    return [at for at, text in enumerate(texts) if text in found] if found else ()


def _is_suspect(text: str) -> bool:
    return len(text) >= SHORTEST and (text[0] in DOCUMENT or bool(redacted(text)[1]))


def _has_divider_and_sign(text: str) -> bool:
    """Whether the text has a divider, and a digit or quote."""
    has = text.__contains__  # takes a fraction of the time of a regular expression
    if not any(map(has, _DIVIDERS)):
        return False
    return any(map(has, _ASCII_DIGITS_AND_QUOTES)) if text.isascii() else _DIGIT_OR_QUOTE(text) is not None
