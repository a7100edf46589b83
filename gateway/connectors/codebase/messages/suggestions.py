"""Suggested next calls, each a tool's name with its arguments. The one that continues a cut answer comes first."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.commits.facts import ChangeFacts
from gateway.connectors.codebase.commits.message import broken_names
from gateway.connectors.codebase.commits.quoting import shown
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.schemas.requests import MAX_COST

_MOST = 3


def suggestions(request: CommitRequest, facts: ChangeFacts, budget: Budget) -> list[str]:
    return list(_following(request, facts, budget))[:_MOST]


def _following(request: CommitRequest, facts: ChangeFacts, budget: Budget) -> Iterator[str]:
    if budget.is_exceeded and budget.limit < MAX_COST:
        yield _again(request, maxCost=_enough(facts, budget.limit))
    for name in broken_names(facts)[:2]:
        query = {"query": {"operation": "findReferences", "name": shown(name)}}
        yield _call("dbp_general_query", query | ({"project": request.project} if request.project else {}))
    if not request.includes_impact:
        yield _again(request, includeImpact=True)


def _enough(facts: ChangeFacts, limit: float) -> float:
    """Dollars that should suffice for all files, if the unread ones cost as much as the others; at least twice the
    limit, at most MAX_COST."""
    wanted = limit * max(2.0, 1.5 * facts.count / len(facts.files))
    return min(MAX_COST, math.ceil(wanted * 100) / 100)


def _again(request: CommitRequest, **changed: Any) -> str:
    text = _call("dbp_commit_message", {**request.arguments(), **changed})
    return text if request.since_diff is None else f"{text} with the same sinceDiff"


def _call(tool: str, arguments: Mapping[str, Any]) -> str:
    return f"{tool} {orjson.dumps(arguments).decode()}"
