"""The parts of the answer, in the words of the tool's data model."""

import re
from typing import Any

from gateway.connectors.codebase.commits.facts import ChangeFacts
from gateway.connectors.codebase.commits.impact import Impact
from gateway.connectors.codebase.commits.message import CommitMessage
from gateway.connectors.codebase.commits.truth import Truth
from gateway.connectors.codebase.git.changes import FileChange
from gateway.connectors.codebase.secrets import sanitized_name

NOT_LOOKED_AT, NO_SUMMARY = "not looked at", "not summarised"
_SURROGATE = re.compile("[\ud800-\udfff]")


def message_document(message: CommitMessage) -> dict[str, Any]:
    return {"title": message.title, "body": message.body, "footer": message.footer}


def impact_document(impact: Impact, truth: Truth) -> dict[str, Any]:
    return {
        "severity": impact.severity.value,
        "affectedAreas": list(impact.areas),
        "suggestedReviewFocus": [each for each in impact.review_focus if truth.holds(each)],
    }


def file_document(file: FileChange, summary: str) -> dict[str, Any]:
    found = {"path": _path(file.path), "changeType": file.kind.value, "summary": summary}
    return found if file.old_path is None else {**found, "oldPath": _path(file.old_path)}


def left_out(facts: ChangeFacts) -> list[str]:
    """A sentence for each part of the change that was not read."""
    found = []
    cut = [file.change.path for file in facts.files if file.change.cut]
    if cut:
        found.append(f"Lines of {_listed(cut)}: too large, missing, or withheld.")
    if facts.unread:
        found.append(f"All lines of {_listed([file.path for file in facts.unread])}: the budget was used up.")
    return found


def _listed(paths: list[str], most: int = 5) -> str:
    shown = ", ".join(map(_path, paths[:most]))
    return shown if len(paths) <= most else f"{shown} and {len(paths) - most:,} more files"


def _path(path: str) -> str:
    """The path without secrets. Bytes that are not UTF-8 are replaced, because JSON cannot hold them."""
    return sanitized_name(_SURROGATE.sub("\ufffd", path))
