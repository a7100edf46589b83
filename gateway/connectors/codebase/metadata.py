"""The metadata of a codebase tool's answer: its time and cost, and what it left out."""

from collections.abc import Sequence
from typing import Any

from gateway.connectors.codebase.budget import Budget, Step, total_of


def metadata_document(budget: Budget, *, files_processed: int, incomplete: Sequence[str]) -> dict[str, Any]:
    """`incomplete`: sentences, one for each thing that was left out. Source: the tools' data model, with `incomplete`
    and `budget` added."""
    return {
        "executionTimeMs": round(budget.elapsed * 1000),
        "modelsUsed": [],
        "filesProcessed": files_processed,
        "tools": [step.document() for step in budget.steps],
        "totalCost": budget.total,
        "isPartialResult": bool(incomplete) or any(step.is_partial for step in budget.steps),
        "budgetExceeded": budget.is_exceeded,
        "incomplete": list(incomplete),
        "budget": budget.document(),
    }


def with_step(metadata: dict[str, Any], step: Step, *, model: str, incomplete: Sequence[str]) -> dict[str, Any]:
    """The metadata of an answer after one more step. `model`: the language model that it used; empty if none."""
    tools = [*metadata["tools"], step.document()]
    total = total_of(tool["cost"] for tool in tools)
    exceeded = metadata["budgetExceeded"] or step.is_over_budget
    return {
        **metadata,
        "executionTimeMs": metadata["executionTimeMs"] + round(step.seconds * 1000),
        "modelsUsed": [*metadata["modelsUsed"], *([model] if model else [])],
        "tools": tools,
        "totalCost": total,
        "isPartialResult": metadata["isPartialResult"] or bool(incomplete) or step.is_partial,
        "budgetExceeded": exceeded,
        "incomplete": [*metadata["incomplete"], *incomplete],
        "budget": {**metadata["budget"], "used": total, "exceeded": exceeded},
    }
