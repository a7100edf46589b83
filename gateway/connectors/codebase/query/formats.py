"""The formats of an answer: rows for programs, or a text that cites them in the same order."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from gateway.connectors.codebase.query.file_names import shown
from gateway.connectors.codebase.query.query_result import QueryResult, Row

ALL_EXCERPTS = 16_000  # characters of all excerpts together; a larger answer would become a preview
SHORTEST_EXCERPT = 200  # characters that each excerpt may have, however many there are
LONGEST_LABEL = 120  # characters
NOTHING = "Nothing was found."
MORE = "There is more: see suggestions."


def results(found: QueryResult, response_format: str) -> dict[str, Any]:
    """For JSON, an object such as `{"matches": […]}`; otherwise `{"text": …}`. `hasMore` is added if the limit left
    rows out."""
    rows = shown_rows(found)
    more = {"hasMore": True} if found.has_more else {}
    if response_format == "JSON":
        return {found.key: rows, **more}
    if response_format == "Concise" and found.best_lines:
        rows = [_with_best_line(row, best) for row, best in zip(rows, found.best_lines, strict=True)]
    texts = [_TEXTS[response_format](row) for row in rows] or [NOTHING]
    gap = "\n" if response_format == "Concise" else "\n\n"
    return {"text": gap.join([*texts, *([MORE] if more else [])]), **more}


def shown_rows(found: QueryResult) -> list[dict[str, Any]]:
    """The rows as they are shown. Their excerpts have at most ALL_EXCERPTS characters together, or SHORTEST_EXCERPT
    each if there are many."""
    return _shortened([_clean(row) for row in found.rows])


def _clean(row: Row) -> dict[str, Any]:
    """Replaces bytes that are not UTF-8 with U+FFFD, because JSON cannot hold them."""
    return {key: shown(value) if isinstance(value, str) else value for key, value in row.items()}


def _shortened(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cuts whole lines off the ends of excerpts that are too long, and adjusts `endLine`."""
    with_excerpt = sum("excerpt" in row for row in rows)
    most = max(SHORTEST_EXCERPT, ALL_EXCERPTS // with_excerpt) if with_excerpt else 0
    return [_with_shorter_excerpt(row, most) if len(row.get("excerpt", "")) > most else row for row in rows]


def _with_shorter_excerpt(row: dict[str, Any], most: int) -> dict[str, Any]:
    lines = row["excerpt"][:most].split("\n")
    kept = lines[:-1] or lines  # the last line is cut, unless there is only one
    return {**row, "excerpt": "\n".join(kept), "endLine": row["startLine"] + len(kept) - 1}


def _with_best_line(row: dict[str, Any], best: int) -> dict[str, Any]:
    """Reduces the excerpt to its best line, unless that line was cut off or is blank."""
    lines = row["excerpt"].split("\n")[best - row["startLine"] :]
    return {**row, "excerpt": lines[0]} if lines and lines[0].strip() else row


def _citation(row: Row) -> str:
    if "startLine" in row:
        return f"{row['path']}:{row['startLine']}-{row['endLine']}"
    return str(row["path"] if "path" in row else row["commit"])


def _label(row: Row) -> str:
    """The text after the citation, in one line."""
    if "subject" in row:
        return f"{row['time'][:10]} {row['subject']}"
    if "changeType" in row:
        old = f" from {row['oldPath']}" if "oldPath" in row else ""
        counted = f"+{row['addedLines']} −{row['removedLines']}" if "addedLines" in row else "lines not counted"
        return f"{row['changeType']}{old}, {counted}"
    if "name" in row:
        return f"{row['kind']} {row['name']}"
    return next((line.strip() for line in row.get("excerpt", "").split("\n") if line.strip()), "")[:LONGEST_LABEL]


def _concise(row: Row) -> str:
    return f"{_citation(row)}  {_label(row)}".rstrip()


def _detailed(row: Row) -> str:
    if not row.get("excerpt"):
        return _concise(row)
    kind = f"  {row['kind']} {row['name']}" if "name" in row else ""
    lines = enumerate(row["excerpt"].split("\n"), row["startLine"])
    return "\n".join([f"{_citation(row)}{kind}", *(f"{number:>5}  {line}".rstrip() for number, line in lines)])


def _markdown(row: Row) -> str:
    if not row.get("excerpt"):
        label = _label(row)
        return f"- `{_citation(row)}`{f' {label}' if label else ''}"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", row["excerpt"])), default=0))
    language = PurePosixPath(row["path"]).suffix.removeprefix(".")
    kind = f" {row['kind']} `{row['name']}`" if "name" in row else ""
    return f"**{_citation(row)}**{kind}\n\n{fence}{language}\n{row['excerpt']}\n{fence}"


_TEXTS: Mapping[str, Callable[[Row], str]] = {"Concise": _concise, "Detailed": _detailed, "Markdown": _markdown}
