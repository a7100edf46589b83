"""Cheap tests of texts: most texts of a record are ids, dates, names and words, which hold no secret."""

import re
from collections.abc import Iterable, Sequence, Set
from itertools import compress

from context_protection.core.redaction.prose import DIGIT_OR_QUOTE, indexes_with_terms, redact_text

SHORT_TEXT = 64  # characters; texts up to this length are cached if they are harmless
MAX_HARMLESS = 8192  # cached texts
LONG_TEXT = 1000  # characters; a longer text is searched alone, because it is likely to have such words
MANY = 4  # texts that are searched together
SHORTEST = 5  # characters of a text that may hold a secret
DOCUMENTS = frozenset({"{}", "[]"})  # the first and the last character of a text that may itself be JSON

_DIGIT_OR_QUOTE = DIGIT_OR_QUOTE.search
_LETTERS = re.compile(r"[^\W\d_]{3}").search
# Dividers stand between a name and its value.
_DIVIDERS_IN_ASCII = " :=>\n\t"
_DIVIDERS_BEYOND_ASCII = "\u00a0：＝\u3000\u202f\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
_DIVIDER = re.compile(f"[{_DIVIDERS_IN_ASCII}{_DIVIDERS_BEYOND_ASCII}]").search
_ASCII_DIGITS_AND_QUOTES = "0123456789\"'`"
_BETWEEN = "\x00"  # joins texts: neither a divider nor a digit, letter or quote
# A digit or quote as 0, and a divider as a space; other bytes are left out. In UTF-8, the first byte of a quote, digit
# or divider beyond ASCII may be that of either.
_SIGN, _DIVIDING, _EITHER = b"0", b" ", b"\xc2\xe2\xe3\xef"
_SIGNS, _DIVIDING_BYTES = _ASCII_DIGITS_AND_QUOTES.encode(), _DIVIDERS_IN_ASCII.encode()
_SIGNS_AND_DIVIDERS = bytes.maketrans(_SIGNS + _DIVIDING_BYTES, _SIGN * len(_SIGNS) + _DIVIDING * len(_DIVIDING_BYTES))
_OTHER_BYTES = bytes(set(range(256)).difference(_BETWEEN.encode(), _SIGNS, _DIVIDING_BYTES, _EITHER))
_STARTS_OF_DOCUMENTS = tuple(_BETWEEN + each[0] for each in sorted(DOCUMENTS))

Redacted = tuple[str, tuple[str, ...]]  # a text without secrets, and their kinds

# The rows of a list have many short texts in common. Only texts without a secret are cached.
known: set[str] = set()


def may_hold_secret(text: str) -> bool:
    """Whether the text may hold a name with its value, or be a JSON document."""
    return _may_hold_name_and_value(text) or may_be_document(text)


def may_be_document(text: str) -> bool:
    """Whether the text may be a JSON object or list."""
    return text[:1] + text[-1:] in DOCUMENTS


def _may_hold_name_and_value(text: str) -> bool:
    if len(text) > SHORT_TEXT:
        return _has_divider_and_sign(text) and _LETTERS(text) is not None
    return bool(_DIVIDER(text) and _DIGIT_OR_QUOTE(text) and _LETTERS(text))


def redacted(text: str) -> Redacted:
    """The text without secrets, and their kinds, as redact_text returns them."""
    if not _may_hold_name_and_value(text) or text in known:
        return text, ()
    changed, kinds = redact_text(text)
    if not kinds:
        _remember((text,))
    return changed, kinds


def may_have_suspects(texts: Sequence[str]) -> bool:
    """A quick test of all texts at once."""
    if known.issuperset(texts):
        return False
    joined = _joined(texts)
    return _has_divider_and_sign(joined) or _may_have_documents(joined)


class SearchedTexts:
    """The texts of one document that were searched: MAX_HARMLESS, and all that were searched one by one. The document's
    lists are screened level by level, so the same text may be asked about at each level."""

    def __init__(self) -> None:
        self._searched: set[str] = set()
        self._suspects: set[str] = set()
        self._redacted: dict[str, Redacted] = {}  # of the texts that hold a secret
        self._count = 0  # texts that were not known before

    def redacted(self, text: str) -> Redacted:
        """Like `redacted`, but does not search a text again in which a secret was found."""
        return self._redacted.get(text) or redacted(text)

    def suspects_among(self, texts: Sequence[str]) -> Sequence[int]:
        """The indexes of the texts that hold a secret or may be JSON documents."""
        joined = _joined(texts)
        has_documents = _may_have_documents(joined)
        if not has_documents and not _has_divider_and_sign(joined):
            return ()
        unknown = set(texts) - known
        again = unknown & self._suspects
        new = unknown - self._searched if self._searched else unknown
        if len(new) < MANY:
            found = {
                text for text in new if len(text) >= SHORTEST and (may_be_document(text) or self._has_secret(text))
            }
        else:
            documents = set(filter(may_be_document, new)) if has_documents else set()
            found = documents | self._secrets_of_many(new - documents)  # a name in a document may be escaped
        self._suspects |= found
        self._count += len(new)
        if self._count <= MAX_HARMLESS:  # more would replace all others
            self._searched |= new
            _remember(new - found)
        suspects = again | found
        return [at for at, text in enumerate(texts) if text in suspects] if suspects else ()

    def _secrets_of_many(self, texts: Set[str]) -> set[str]:
        """Those of the texts that hold a secret. They are first searched together for the words that every secret has
        beside it, unless they are long."""
        some = _with_divider_and_sign(list(texts))
        short = [text for text in some if len(text) <= LONG_TEXT]
        long = [text for text in some if len(text) > LONG_TEXT] if len(short) < len(some) else []
        alone = [*long, *map(short.__getitem__, indexes_with_terms(short))]
        self._searched.update(alone)
        return set(filter(self._has_secret, alone))

    def _has_secret(self, text: str) -> bool:
        if not _may_hold_name_and_value(text):
            return False
        changed, kinds = redact_text(text)
        if kinds:
            self._redacted[text] = changed, kinds
        return bool(kinds)


def _joined(texts: Iterable[str]) -> str:
    """Each text behind a _BETWEEN."""
    return _BETWEEN.join(("", *texts))


def _may_have_documents(joined: str) -> bool:
    object_starts, list_starts = _STARTS_OF_DOCUMENTS
    return object_starts in joined or list_starts in joined


def _with_divider_and_sign(texts: Sequence[str]) -> Sequence[str]:
    """Those of the texts that may have a divider, and a digit or quote. Takes a tenth of the time of a search for
    terms."""
    if sum(map(len, texts)) > SHORT_TEXT * len(texts):  # most long texts have both
        return texts
    joined = _joined(texts).encode("utf-8", "surrogatepass").translate(_SIGNS_AND_DIVIDERS, _OTHER_BYTES)
    parts = joined.split(_BETWEEN.encode())[1:]
    if len(parts) != len(texts):  # a text has such a character itself
        return texts
    chosen = {part for part in set(parts) if not part.isascii() or (_SIGN in part and _DIVIDING in part)}
    return list(compress(texts, map(chosen.__contains__, parts)))


def _remember(texts: Iterable[str]) -> None:
    """Caches those of these harmless texts that are short."""
    short = [text for text in texts if len(text) <= SHORT_TEXT]
    if len(known) + len(short) > MAX_HARMLESS:
        known.clear()
    known.update(short)


def _has_divider_and_sign(text: str) -> bool:
    """Whether the text has a divider, and a digit or quote."""
    has, is_ascii = text.__contains__, text.isascii()  # takes a tenth of the time of a regular expression
    if not any(map(has, _DIVIDERS_IN_ASCII)) and (is_ascii or not any(map(has, _DIVIDERS_BEYOND_ASCII))):
        return False
    return any(map(has, _ASCII_DIGITS_AND_QUOTES)) if is_ascii else _DIGIT_OR_QUOTE(text) is not None
