"""Classifies the dominant kind of text in an answer. Audits are grouped by class, because the errors of token estimates
depend on it (FR-014).

The rules are cheap, and the most reliable come first. They examine the content that makes up most of an answer: a text
only up to LOOKED_AT characters.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import orjson


class TextClass(StrEnum):
    JSON = "json"
    JSON_PRETTY = "json_pretty"
    JSON_NUMERIC = "json_numeric"
    JSON_ESCAPED = "json_escaped"  # JSON inside a string of JSON
    TABLE = "table"
    LOG = "log"
    CSV = "csv"
    MARKDOWN = "markdown"
    CODE = "code"
    YAML = "yaml"
    HTML = "html"
    CJK = "cjk"
    ARABIC_INDIC_THAI = "arabic_indic_thai"
    EMOJI = "emoji"
    IDS = "ids"  # ids, hashes, base64
    PROSE = "prose"


LOOKED_AT = 20_000  # characters that are examined
SENTENCE = 40  # minimum characters of a string with spaces that counts as readable text


def classify(body: str) -> TextClass:
    """The class of an answer's body or of any text. Equal texts have equal classes."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _of_text(body)
    return _of_document(document, body)


def _of_document(document: Any, body: str) -> TextClass:
    strings, numbers = _leaves(document)
    size = len(body)
    longest = max(strings, key=len, default="")
    if len(longest) * 2 >= size:
        return _of_text(longest)
    joined = " ".join(strings)[:LOOKED_AT]
    words = [text for text in strings if len(text) >= SENTENCE and " " in text]
    if script := _script(joined, least=0.2 * size if size <= LOOKED_AT else 0.2 * len(joined)):
        return script
    if _share(_opaque(strings), size) >= 0.4:
        return TextClass.IDS
    if _share(words, size) >= 0.5:
        return _of_text("\n".join(words))
    if isinstance(document, dict) and isinstance(document.get("table"), dict):
        return TextClass.TABLE
    if _share(numbers, size) >= 0.35:
        return TextClass.JSON_NUMERIC
    return TextClass.JSON_PRETTY if _is_indented(body) else TextClass.JSON


def _leaves(document: Any) -> tuple[list[str], list[str]]:
    """The strings and the numbers (as text) of a document."""
    strings: list[str] = []
    numbers: list[str] = []
    open_values = [document]
    while open_values:
        value = open_values.pop()
        if isinstance(value, str):
            strings.append(value)
        elif isinstance(value, dict):
            open_values.extend(value.values())
        elif isinstance(value, list):
            open_values.extend(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers.append(str(value))
    return strings, numbers


def _share(texts: list[str], size: int) -> float:
    return sum(map(len, texts)) / max(size, 1)


_OPAQUE = re.compile(r"(?=[^\s]*[0-9])[A-Za-z0-9+/=_.:-]{16,}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.,]+(Z|[+-][\d:]+)?)?")


def _opaque(strings: list[str]) -> list[str]:
    """Ids, hashes and base64: long strings with digits and without spaces, but not timestamps or URLs."""
    return [text for text in strings if _OPAQUE.fullmatch(text) and not _TIME.fullmatch(text) and "://" not in text]


def _is_indented(body: str) -> bool:
    return body[:LOOKED_AT].count("\n ") >= 2


# ---- scripts --------------------------------------------------------------------------------------

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_ARABIC_INDIC_THAI = re.compile("[\u0590-\u08ff\u0900-\u0eff\ufb1d-\ufdff\ufe70-\ufeff]")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")


def _script(text: str, least: float) -> TextClass | None:
    """The first script that more than `least` characters of the text belong to; None if there is none. For emoji, which
    cost the most tokens, a quarter of that is enough."""
    for kind, pattern, minimum in (
        (TextClass.CJK, _CJK, least),
        (TextClass.ARABIC_INDIC_THAI, _ARABIC_INDIC_THAI, least),
        (TextClass.EMOJI, _EMOJI, least / 4),
    ):
        if len(pattern.findall(text)) > minimum:
            return kind
    return None


# ---- texts ----------------------------------------------------------------------------------------

_LOG = re.compile(
    r"\W{0,2}(\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d+ \d\d:\d\d|(DEBUG|INFO|WARN|ERROR)\b)"
)
_HTML = re.compile(r"</?[a-z][a-z0-9]*(\s[^<>]*)?>", re.IGNORECASE)
_MARKDOWN = re.compile(r"#{1,6} \S|```|[-*] (\S.*)?(\*\*|\]\(|`)|\|.*\|$|> |.*\[[^\]]+\]\([^)]+\)|.*\*\*\S")
_CODE = re.compile(
    r".*[;{}]$|.*\):?$|\s*(def|class|import|from|return|if|for|while|else|elif|try|const|let|var|function|fn|public|"
    r"private|package|#include|//|/\*|@\w+)\b"
)
_YAML = re.compile(r"\s*(- )?[\w.\"'-]+:(\s.*)?$|\s*- \S+$|---$|\s*#")


def _of_text(text: str) -> TextClass:
    text = text[:LOOKED_AT].strip()
    if script := _script(text, least=0.2 * len(text)):
        return script
    if text[:1] in ("{", "[") and '"' in text:
        return TextClass.JSON_PRETTY if _is_indented(text) else TextClass.JSON_ESCAPED
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return TextClass.PROSE
    return next(_of_lines(text, lines), TextClass.PROSE)


def _of_lines(text: str, lines: list[str]) -> Iterator[TextClass]:
    """All classes that match the lines, the most certain first."""

    def share(pattern: re.Pattern[str]) -> float:
        return sum(1 for line in lines if pattern.match(line)) / len(lines)

    if share(_LOG) >= 0.4:
        yield TextClass.LOG
    if sum(len(word) for word in text.split() if len(word) >= 20 and _OPAQUE.fullmatch(word)) * 2 >= len(text):
        yield TextClass.IDS
    if len(_HTML.findall(text)) * 100 >= len(text):
        yield TextClass.HTML
    if _is_csv(lines):
        yield TextClass.CSV
    marked = "```" in text or any(line.startswith("#") and _MARKDOWN.match(line) for line in lines)
    if (marked or share(_MARKDOWN) >= 0.3) and share(_CODE) < 0.5:
        yield TextClass.MARKDOWN
    if len(lines) > 2 and share(_YAML) >= 0.8:
        yield TextClass.YAML
    if share(_CODE) >= 0.3:
        yield TextClass.CODE


def _is_csv(lines: list[str]) -> bool:
    """Whether nearly all lines have as many separators as the first. A comma before a space is prose."""
    for separator in (r",(?! )", ";", "\t"):
        found = [len(re.findall(separator, line)) for line in lines]
        if len(lines) >= 3 and found[0] >= 2:
            return found.count(found[0]) >= 0.9 * len(lines)
    return False
