"""What a query has found, before it is written in the format of the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MATCHES, FILES, SYMBOLS, COMMITS, CHANGED_FILES = "matches", "files", "symbols", "commits", "changedFiles"

Row = Mapping[str, Any]
HasLeft = Callable[[], bool]  # whether the budget lets the work go on


@dataclass(frozen=True, slots=True)
class QueryResult:
    """`key`: of the rows in `results`. `files`: how many were looked at. `has_more`: the limit left rows out.
    `left_out`: a sentence about what the budget left out; empty if nothing. `next_query`: the structured query that
    continues after these rows. `best_lines`: of each row, the line that it was found for; none where the
    rows themselves tell."""

    key: str
    rows: Sequence[Row]
    files: int
    has_more: bool = False
    left_out: str = ""
    next_query: Mapping[str, Any] | None = None
    best_lines: Sequence[int] = ()


def match(path: str, start: int, end: int, excerpt: str, *, score: float = 1.0, **more: Any) -> dict[str, Any]:
    """A row of MATCHES. Lines count from 1; `end` belongs to it."""
    return {"path": path, "startLine": start, "endLine": end, "score": score, "excerpt": excerpt, **more}
