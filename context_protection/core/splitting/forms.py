"""Detects the structure of a text from its name, its media type or its first lines."""

import json
import re
from collections.abc import Callable
from enum import StrEnum
from itertools import accumulate

from context_protection.core.splitting.logs import CONTINUATION, ENTRY
from context_protection.core.splitting.markdown import FENCE


class TextForm(StrEnum):
    """The structure of a text. LOG, JSONL and CSV are line content: cut by lines, not by tokens."""

    LOG = "log"
    JSONL = "jsonl"
    CSV = "csv"
    MARKDOWN = "markdown"
    PROSE = "prose"
    CODE = "code"


LINE_CONTENT = frozenset({TextForm.LOG, TextForm.JSONL, TextForm.CSV})
_SUFFIXES = {
    TextForm.LOG: "log",
    TextForm.JSONL: "jsonl ndjson",
    TextForm.CSV: "csv tsv",
    TextForm.MARKDOWN: "md markdown mdown mdx rmd",
    TextForm.PROSE: "rst adoc tex",
    TextForm.CODE: "bash c cc cfg conf cpp cs css dart ex go h hpp htm html ini java jl js json json5 jsx kt"
    " less lua mjs php pl proto ps1 py pyi r rb rs sass scala scss sh sql svelte svg swift tf toml ts tsx vue"
    " xml yaml yml zig",
}
_MEDIA_TYPES = {
    TextForm.LOG: "text/log text/x-log application/x-log",
    TextForm.JSONL: "application/jsonl application/jsonlines application/ndjson application/x-ndjson",
    TextForm.CSV: "text/csv text/tab-separated-values application/csv",
    TextForm.MARKDOWN: "text/markdown text/x-markdown",
    TextForm.CODE: "application/json application/xml application/yaml application/javascript application/toml"
    " application/sql application/graphql text/html text/css text/xml text/yaml text/javascript",
}
_FORM_OF_SUFFIX = {suffix: form for form, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_FORM_OF_MEDIA_TYPE = {name: form for form, names in _MEDIA_TYPES.items() for name in names.split()}
_ROTATED_LOG = re.compile(r"\.log[.-]?\d[\w.:-]*$", re.IGNORECASE)  # sync.log.1, sync.log-20261101
_CODE_MEDIA_TYPE = re.compile(r".*\+(json|xml|yaml)$|text/x-\w")
_CODE_LINE = re.compile(
    r"(#!|<\?|<!|</?\w[^>]*>)|.*[{};]\s*$|\s*[}\])]+[,;]?\s*$|\s*(import|from|def|class|function|const|let|var"
    r"|public|private|package|func|fn|use|#include|SELECT)\s+\S"
)
_MARKDOWN_LINE = re.compile(r" {0,3}#{1,6} \S|\s*([-*+]|\d{1,3}[.)]) +\S|\s*\|.*\|\s*$|.*(\]\(\w|\*\*\w)")


def detect(name: str, media_type: str, text: str) -> TextForm:
    """The form of a text according to its file name, else its media type, else its first lines."""
    if _ROTATED_LOG.search(name):
        return TextForm.LOG
    _, dot, suffix = name.rpartition(".")
    media = media_type.partition(";")[0].strip().lower()
    form = (_FORM_OF_SUFFIX.get(suffix.lower()) if dot else None) or _FORM_OF_MEDIA_TYPE.get(media)
    if form is None and _CODE_MEDIA_TYPE.match(media):
        return TextForm.CODE
    return form or _form_by_looks(text)


def csv_header(text: str) -> str:
    """The first record of the CSV file that begins with `text`, without its line end; empty if `text` does not contain
    all of it."""
    lines = text.removeprefix("\ufeff").split("\n")
    quotes = accumulate(line.count('"') for line in lines[:-1])
    count = next((number for number, before in enumerate(quotes, start=1) if before % 2 == 0), 0)
    return "\n".join(lines[:count]).rstrip("\r")


def _form_by_looks(text: str) -> TextForm:
    lines = text[:16_384].removeprefix("\ufeff").split("\n")
    if len(text) > 16_384 and len(lines) > 1:
        lines.pop()  # the limit above may have cut the last line
    lines = [line for line in lines if line.strip()][:60]
    checks: tuple[tuple[TextForm, Callable[[list[str]], bool]], ...] = (
        (TextForm.JSONL, _looks_like_jsonl),
        (TextForm.LOG, _looks_like_log),
        (TextForm.MARKDOWN, lambda lines: any(map(FENCE.match, lines))),
        (TextForm.CSV, _looks_like_csv),
        (TextForm.CODE, lambda lines: sum(map(bool, map(_CODE_LINE.match, lines))) > 0.4 * len(lines)),
        (TextForm.MARKDOWN, lambda lines: any(map(_MARKDOWN_LINE.match, lines))),
    )
    return next((form for form, looks_so in checks if looks_so(lines)), TextForm.PROSE)


def _looks_like_jsonl(lines: list[str]) -> bool:
    return len(lines) > 1 and all(line[0] in "{[" and _is_json(line) for line in lines[:5])


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _looks_like_log(lines: list[str]) -> bool:
    """Whether there are at least two entries, and at least as many entries as other lines at the margin."""
    at_margin = [line for line in lines if not CONTINUATION.match(line)]
    return sum(map(bool, map(ENTRY.match, lines))) >= max(2, len(at_margin) / 2)


def _looks_like_csv(lines: list[str]) -> bool:
    """Whether all rows have the same number of some separator. A comma before a space or a line end is prose."""
    rows = [re.sub(r'"[^"]*"', "", line).rstrip() for line in lines[:20]]
    counts = ([len(re.findall(mark, row)) for row in rows] for mark in (r",(?! |$)", r";(?! |$)", "\t"))
    return len(rows) > 1 and any(len(set(count)) == 1 and count[0] for count in counts)
