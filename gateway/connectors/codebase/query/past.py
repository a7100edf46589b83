"""history and changedSince: the structured queries about commits."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.git import worktree
from gateway.connectors.codebase.git.changes import FileChange
from gateway.connectors.codebase.git.history import MAX_COMMITS, CommitNotFound, past
from gateway.connectors.codebase.git.past_commit import PastCommit
from gateway.connectors.codebase.query.file_names import existing
from gateway.connectors.codebase.query.query_result import CHANGED_FILES, COMMITS, HasLeft, QueryResult
from gateway.connectors.codebase.query.sources import Sources
from gateway.connectors.codebase.tree.paths import PathRefused, parts_of


def history(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    path, limit, last = query.get("path"), query["limit"], query.get("after", "")
    inside = "/".join(_parts(existing(path, sources))) if path else None
    rows: list[dict[str, Any]] = []
    seen = 0
    for commit in _commits(sources, last):
        if not has_left():
            return _stopped(query, rows, seen, last)
        if _touches(commit, inside, sources):
            if len(rows) == limit:
                return QueryResult(COMMITS, rows, seen, has_more=True, next_query={**query, "after": last})
            rows.append(_row(commit))
        seen, last = seen + 1, commit.id
    return _stopped(query, rows, seen, last) if seen == MAX_COMMITS else QueryResult(COMMITS, rows, seen)


def _commits(sources: Sources, after: str) -> Iterator[PastCommit]:
    try:
        yield from past(sources.repository, MAX_COMMITS, after=after, most_paths=None)
    except CommitNotFound:
        raise InvalidArgument(
            "query.after is not a commit that HEAD reaches.",
            reason="invalid_query",
            parameter="query.after",
            value=after,
            expected="a commit of an earlier answer",
            suggestion="Leave query.after out to begin with the newest commit.",
        ) from None


def _stopped(query: Mapping[str, Any], rows: list[dict[str, Any]], seen: int, last: str) -> QueryResult:
    left_out = f"Commits older than {last[:12]} were not read." if last else "No commit was read."
    return QueryResult(
        COMMITS, rows, seen, left_out=left_out, next_query={**query, **({"after": last} if last else {})}
    )


def _touches(commit: PastCommit, path: str | None, sources: Sources) -> bool:
    if path is None and sources.scope.is_whole:
        return True
    return any(
        (path is None or each == path or each.startswith(f"{path}/")) and sources.scope.holds(each)
        for each in commit.paths
    )


def _row(commit: PastCommit) -> dict[str, Any]:
    time = datetime.fromtimestamp(commit.time, UTC).isoformat().replace("+00:00", "Z")
    return {"commit": commit.id[:12], "time": time, "subject": commit.subject, "changedFiles": len(commit.paths)}


def _parts(path: str) -> tuple[str, ...]:
    try:
        return parts_of(path)
    except PathRefused as refused:
        raise InvalidArgument(
            str(refused),
            reason="path_refused",
            parameter="query.path",
            value=path,
            expected="a path below the project's root, such as src/main.py",
            suggestion="Leave query.path out for the history of all files.",
        ) from None


def changed_since(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    commit, limit = query["commit"], query["limit"]
    try:
        changes = worktree.since(sources.repository, commit)
    except worktree.CommitRefused as refused:
        raise InvalidArgument(
            str(refused).replace(worktree.WITHOUT, "").rstrip().replace("sinceCommit", "query.commit"),
            reason="invalid_query",
            parameter="query.commit",
            value=commit,
            expected="a commit of the project",
            suggestion='Ask {"operation": "history"} for commits.',
        ) from None
    rows = [_changed(each) for each in changes.files if sources.scope.holds(each.path)]
    end = query["offset"] + limit
    more = len(rows) > end
    return QueryResult(
        CHANGED_FILES,
        rows[query["offset"] : end],
        len(rows),
        has_more=more,
        left_out="The changes were too large to be read whole." if changes.truncated else "",
        next_query={**query, "offset": end} if more else None,
    )


def _changed(change: FileChange) -> dict[str, Any]:
    """The row of a changed file; without the numbers of lines if not all lines were read."""
    row = {"path": change.path, "changeType": str(change.kind)}
    if change.old_path:
        row["oldPath"] = change.old_path
    if change.cut:
        return row
    marks = [line.mark for hunk in change.hunks for line in hunk.lines]
    return {**row, "addedLines": marks.count("+"), "removedLines": marks.count("-")}
