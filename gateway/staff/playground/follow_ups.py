"""The calls that an answer offers to a model for more of its data, such as the next page."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from telemetry import wording

MOST = 24


@dataclass(frozen=True, slots=True)
class FollowUp:
    label: str
    tool: str
    arguments: Mapping[str, Any]

    @property
    def as_json(self) -> str:
        return json.dumps(self.arguments, ensure_ascii=False)


def follow_ups(tool: str, body: str) -> list[FollowUp]:
    """The follow-ups of an answer over MCP. Leaves out `each` of a page, a template that needs a row's key first."""
    try:
        document = json.loads(body)
    except ValueError:
        return []
    if not isinstance(document, dict):
        return []
    return list({(each.tool, each.as_json): each for each in _of_answer(tool, document)}.values())[:MOST]


def _of_answer(tool: str, document: Mapping[str, Any]) -> Iterator[FollowUp]:
    if isinstance(document.get("nextCursor"), str):
        yield FollowUp("Next page", tool, {"cursor": document["nextCursor"]})
    meta = document.get("meta")
    if not isinstance(meta, dict):
        return
    details = meta.get("detailsAvailable")
    if isinstance(details, dict) and _is_call(details):
        yield FollowUp("All fields", details["tool"], details["arguments"])
        for name, each in (details.get("sections") or {}).items():
            tokens = each.get("estimatedTokens") if isinstance(each, dict) else None
            size = f", {wording.whole(tokens)}" if isinstance(tokens, int) else ""
            yield FollowUp(f"Section {name}{size}", details["tool"], {**details["arguments"], "fields": name})
    for name, value in meta.items():
        if name != "detailsAvailable" and isinstance(value, dict) and _is_call(value):
            yield FollowUp(name, value["tool"], value["arguments"])


def _is_call(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("tool"), str) and isinstance(value.get("arguments"), dict)
