"""A plan as the preview page shows it: changed and new operations first."""

import hashlib
from typing import Any

from gateway.connectors.openapi.forms import Choices
from gateway.connectors.openapi.import_plan import Plan, Proposal, Status
from gateway.connectors.openapi.names import tool_name

WORDS = {Status.CHANGED: "changed", Status.NEW: "new", Status.GONE: "gone", Status.UNCHANGED: "as it was"}
ORDER = list(WORDS)


def counts(plan: Plan) -> list[tuple[str, int]]:
    """How many operations are changed, new, and so on, as (words, number); a status without operations is left out."""
    return [(words, plan.counts[status]) for status, words in WORDS.items() if plan.counts[status]]


def rows(plan: Plan, choices: Choices | None) -> list[dict[str, Any]]:
    """The rows of the page's table. `choices`: what was submitted; None shows everything as proposed."""
    return [_row(plan, each, choices) for each in sorted(plan.proposals, key=lambda each: ORDER.index(each.status))]


def _row(plan: Plan, proposal: Proposal, choices: Choices | None) -> dict[str, Any]:
    operation = proposal.operation
    return {
        "id": hashlib.sha256(proposal.key.encode()).hexdigest()[:12],
        "key": proposal.key,
        "name": choices.names.get(proposal.key, proposal.name) if choices else proposal.name,
        "proposed": proposal.name,
        "tool": tool_name(plan.name, proposal.name),
        "status": proposal.status.value,
        "status_words": WORDS[proposal.status],
        "chosen": proposal.key in choices.chosen if choices else proposal.chosen,
        "title": operation.title if operation else "",
        "kind": operation.kind.value if operation else "",
        "acts": operation is not None and not operation.is_safe,
        "is_gone": operation is None,
        "deprecated": operation is not None and operation.deprecated,
        "tokens": proposal.tokens,
        "paging": operation.paging.style.value.replace("_", " ") if operation and operation.paging else "",
        "changes": proposal.changes,
        "warnings": operation.warnings if operation else (),
        "tags": operation.tags if operation else (),
    }
