"""Checks a model's answer, in a child process because the answer and a diff may be long. Needs no Django."""

import logging
from dataclasses import dataclass
from typing import Any

from gateway.connectors.codebase.budget import Limits
from gateway.connectors.codebase.model.draft import AnswerRejected, Draft

STEP = "model"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """`document`: None if the answer was rejected. `cost`: of the check, in dollars."""

    document: dict[str, Any] | None
    reason: str
    cost: float


def checked_answer(draft: Draft, text: str, limits: Limits) -> CheckedAnswer:
    """Blocks."""
    budget = limits.budget()
    document, reason = None, ""
    with budget.step(STEP):
        try:
            assert draft.evidence is not None
            document = draft.evidence.improved(draft.document, text)
        except AnswerRejected as rejected:
            reason = str(rejected)
        except Exception:
            logger.exception("check of a model's answer failed")
            reason = "its check failed"
    return CheckedAnswer(document, reason, budget.cost)
