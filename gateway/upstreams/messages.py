"""The upstream's own error message, made safe for callers: short, printable, without secrets."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

import orjson

from context_protection.core.redaction import redact_text
from gateway.upstreams.exchanges import Response

MOST_CHARS = 300
MOST_BYTES_READ = 64 * 1024  # a larger body is not searched for a message
MASK = "***"
SHORTEST_SECRET = 4

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})  # controls, bidi, zero width, tags, surrogates, private use
SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")

TOKENS = (
    re.compile(r"(?i)\b(?:bearer|basic|digest|token)\s+[\w.~+/=-]{8,}"),
    re.compile(r"\beyJ[\w-]+\.[\w-]+(?:\.[\w-]*)?"),  # JSON Web Tokens
    re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|ghu|glpat|xox[abpors]|github_pat)[-_][\w-]{8,}"),
    re.compile(r"\bA(?:KIA|SIA)[0-9A-Z]{16}\b"),
    re.compile(r"(?<=://)[^\s/@]+(?=@)"),
    re.compile(r"[A-Za-z0-9_-]{40,}"),
)
NAMED = re.compile(
    r"(?i)\b([\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d|signature|authorization))(\"?'?\s*[=:]\s*\"?'?)[^\s\"'&,;]{4,}"
)

PATHS = (
    ("error", "message"),
    ("error", "detail"),
    ("error_description",),
    ("message",),
    ("detail",),
    ("title",),
    ("errors", 0, "message"),
    ("errors", 0, "detail"),
    ("errors", 0, "title"),
    ("errors", 0),
    ("error",),
    ("msg",),
    ("reason",),
    ("description",),
)


def message(response: Response, secrets: Iterable[str]) -> str:
    """The cleaned message of a JSON body; "" if it has none. Nothing of an HTML page is repeated."""
    if "json" not in response.media_type or len(response.body) > MOST_BYTES_READ:
        return ""
    try:
        document = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return ""
    found = (_at(document, path) for path in PATHS)
    return cleaned(next((each for each in found if isinstance(each, str) and each), ""), secrets)


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, str):
            document = document.get(step) if isinstance(document, Mapping) else None
        else:
            document = document[step] if isinstance(document, list) and step < len(document) else None
    return document


def cleaned(text: str, secrets: Iterable[str], most: int = MOST_CHARS) -> str:
    """Removes invisible characters first: they could split a secret. Cuts last, so that no secret is cut in half."""
    text = masked(redact_text(printable(text))[0], secrets)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """The text on one line, without invisible characters."""
    text = SELECTORS.sub("", ANSI.sub("", text))
    spaced = (" " if each.isspace() else each for each in text)
    return " ".join("".join(each for each in spaced if unicodedata.category(each) not in INVISIBLE).split())


def masked(text: str, secrets: Iterable[str]) -> str:
    text = without(text, secrets)
    text = NAMED.sub(rf"\1\2{MASK}", text)
    for pattern in TOKENS:
        text = pattern.sub(MASK, text)
    return text


def without(text: str, secrets: Iterable[str]) -> str:
    """Masks these secrets, longest first, because one may contain another."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, MASK).replace(quote(secret, safe=""), MASK)
    return text
