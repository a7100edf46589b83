"""What a query has found, before it is written in the format of the answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MATCHES, FILES, SYMBOLS, COMMITS, CHANGED_FILES = "matches", "files", "symbols", "commits", "changedFiles"

Row = Mapping[str, Any]
HasLeft = Callable[[], bool]  # whether the budget allows further work


@dataclass(frozen=True, slots=True)
class QueryResult:
    """`key`: the name of the rows in `results`. `files`: how many were read, or commits for `history`. `has_more`: the
    limit left rows out. `left_out`: a sentence about what the budget left out; empty if nothing. `next_query`: the
    structured query that continues after these rows. `best_lines`: for each row, the number of its best-matching line;
    only for questions in words."""

    key: str
    rows: Sequence[Row]
    files: int
    has_more: bool = False
    left_out: str = ""
    next_query: Mapping[str, Any] | None = None
    best_lines: Sequence[int] = ()


def match(path: str, start: int, end: int, excerpt: str, *, score: float = 1.0, **more: Any) -> dict[str, Any]:
    """A row of MATCHES. Line numbers start at 1; `end` is inclusive."""
    return {"path": path, "startLine": start, "endLine": end, "score": score, "excerpt": excerpt, **more}
