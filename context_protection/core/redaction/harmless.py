"""Cheap tests of texts: most texts of a record are ids, dates, names and words, which hold no secret."""

import re
from collections.abc import Collection, Iterable, Sequence, Set
from itertools import compress

from context_protection.core.redaction.prose import DIGIT_OR_QUOTE, indexes_with_terms, redact_text

SHORT_TEXT = 64  # characters; texts up to this length are cached if they are harmless
MAX_HARMLESS = 8192  # cached texts
MOST_NEW = 2048  # more new texts in one search are not cached: they are unlikely to be sent again
LONG_TEXT = 1000  # characters; a longer text is searched alone, because it is likely to have such words
MANY = 4  # texts that are searched together
SHORTEST = 5  # characters of a text that may hold a secret
DOCUMENTS = frozenset({"{}", "[]"})  # the first and the last character of a text that may itself be JSON

_DIGIT_OR_QUOTE = DIGIT_OR_QUOTE.search
_LETTERS = re.compile(r"[^\W\d_]{3}").search
_DIVIDER = re.compile("[ :=>\n\t\u00a0]").search
# The same dividers, one by one. Searching a long text for each of them takes a tenth of the time.
_DIVIDERS = " :=>\n\t\u00a0"
_ASCII_DIGITS_AND_QUOTES = "0123456789\"'`"
_BETWEEN = "\x00"  # joins texts: neither a divider nor a digit, letter or quote
# A digit or quote as 0, and a divider as a space; other bytes are left out. In UTF-8, the first byte of a quote or
# digit beyond ASCII counts as one, and that of a no-break space as both.
_SIGN, _DIVIDING, _BOTH = b"0", b" ", b"\xc2"
_SIGNS = _ASCII_DIGITS_AND_QUOTES.encode() + b"\xe2\xef"
_DIVIDING_BYTES = _DIVIDERS[:-1].encode()
_SIGNS_AND_DIVIDERS = bytes.maketrans(_SIGNS + _DIVIDING_BYTES, _SIGN * len(_SIGNS) + _DIVIDING * len(_DIVIDING_BYTES))
_OTHER_BYTES = bytes(set(range(256)).difference(_BETWEEN.encode(), _SIGNS, _DIVIDING_BYTES, _BOTH))
_STARTS_OF_DOCUMENTS = tuple(_BETWEEN + each[0] for each in sorted(DOCUMENTS))

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


def redacted(text: str) -> tuple[str, tuple[str, ...]]:
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


def suspects_among(texts: Sequence[str]) -> Sequence[int]:
    """The indexes of the texts that hold a secret or may be JSON documents."""
    joined = _joined(texts)
    has_documents = _may_have_documents(joined)
    if not has_documents and not _has_divider_and_sign(joined):
        return ()
    unknown = set(texts) - known
    if len(unknown) < MANY:
        found = set(filter(_is_suspect, unknown))
    else:
        documents = set(filter(may_be_document, unknown)) if has_documents else set()
        found = documents | _secrets_of_many(unknown - documents)  # a name in a document may be escaped
    return [at for at, text in enumerate(texts) if text in found] if found else ()


def _joined(texts: Iterable[str]) -> str:
    """Each text behind a _BETWEEN."""
    return _BETWEEN.join(("", *texts))


def _may_have_documents(joined: str) -> bool:
    object_starts, list_starts = _STARTS_OF_DOCUMENTS
    return object_starts in joined or list_starts in joined


def _is_suspect(text: str) -> bool:
    return len(text) >= SHORTEST and (may_be_document(text) or bool(redacted(text)[1]))


def _secrets_of_many(texts: Set[str]) -> set[str]:
    """Those of the texts that hold a secret. They are first searched together for the words that every secret has
    beside it, unless they are long."""
    some = _with_divider_and_sign(list(texts))
    short = [text for text in some if len(text) <= LONG_TEXT]
    long = [text for text in some if len(text) > LONG_TEXT] if len(short) < len(some) else []
    alone = [*long, *map(short.__getitem__, indexes_with_terms(short))]
    found = {text for text in alone if _may_hold_name_and_value(text) and redact_text(text)[1]}
    _remember(texts - found if found else texts)
    return found


def _with_divider_and_sign(texts: Sequence[str]) -> Sequence[str]:
    """Those of the texts that may have a divider, and a digit or quote. Takes a tenth of the time of a search for
    terms."""
    if sum(map(len, texts)) > SHORT_TEXT * len(texts):  # most long texts have both
        return texts
    joined = _joined(texts).encode("utf-8", "surrogatepass").translate(_SIGNS_AND_DIVIDERS, _OTHER_BYTES)
    parts = joined.split(_BETWEEN.encode())[1:]
    if len(parts) != len(texts):  # a text has such a character itself
        return texts
    chosen = {part for part in set(parts) if _BOTH in part or (_SIGN in part and _DIVIDING in part)}
    return list(compress(texts, map(chosen.__contains__, parts)))


def _remember(texts: Collection[str]) -> None:
    """Caches those of these harmless texts that are short, unless they are very many."""
    if len(texts) > MOST_NEW:
        return
    short = [text for text in texts if len(text) <= SHORT_TEXT]
    if len(known) + len(short) > MAX_HARMLESS:
        known.clear()
    known.update(short)


def _has_divider_and_sign(text: str) -> bool:
    """Whether the text has a divider, and a digit or quote."""
    has = text.__contains__  # takes a fraction of the time of a regular expression
    if not any(map(has, _DIVIDERS)):
        return False
    return any(map(has, _ASCII_DIGITS_AND_QUOTES)) if text.isascii() else _DIGIT_OR_QUOTE(text) is not None
