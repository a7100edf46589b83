"""Has a child process answer a call about a project, and turns its failures into a partial answer or an error."""

from collections.abc import Callable
from typing import Any

from context_protection.core.errors import InternalError, NotFound
from gateway.connectors.codebase.budget import Budget, Limits, Step
from gateway.connectors.codebase.git.refusal import RepositoryRefused
from gateway.connectors.codebase.known_projects import KnownProject
from gateway.connectors.codebase.metadata import metadata_document
from gateway.connectors.codebase.model.draft import Draft
from gateway.connectors.codebase.processes import Crashed, OutOfTime, processes

Work = Callable[..., Draft]

OUT_OF_TIME = "The work did not finish in time, so it was stopped, and its results are lost. Ask for less."


async def answered(project: KnownProject, limits: Limits, work: Work, *arguments: Any) -> Draft:
    """The result of `work(*arguments, limits)`; only metadata if the work did not end in time. Raises CallError."""
    budget = limits.budget()
    try:
        return await processes.run(limits.ends_at, work, *arguments, limits)
    except OutOfTime:
        return Draft({"metadata": _stopped(budget, limits.price)})
    except Crashed:
        raise InternalError(
            "The process that read the project ended during the work.",
            reason="answer_crashed",
            suggestion="Ask about a smaller part of the project. If it happens again, tell the operator.",
        ) from None
    except RepositoryRefused:
        raise NotFound(
            f"The folder of the project {project.name} cannot be read any more.",
            reason="project_unreadable",
            suggestion="Tell the operator: `manage.py project list` shows its folder.",
        ) from None


def _stopped(budget: Budget, price: float) -> dict[str, Any]:
    cost = min(budget.limit, budget.elapsed * price)  # an upper bound, as the work's processor time is unknown
    budget.steps.append(Step("answer", budget.elapsed, cost, is_partial=True, is_over_budget=True))
    return metadata_document(budget, files_processed=0, incomplete=[OUT_OF_TIME])
