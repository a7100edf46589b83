"""The step in which a model improves the local answer. If anything goes wrong, the local answer is returned, and its
metadata say why."""

import asyncio
import logging
import math
import time
from dataclasses import replace
from typing import Any

from context_protection.core.redaction import POLICY, Visibility, redact
from gateway.connectors.codebase.budget import Limits, Step
from gateway.connectors.codebase.metadata import with_step
from gateway.connectors.codebase.model.check import STEP, CheckedAnswer, checked_answer
from gateway.connectors.codebase.model.draft import Draft, Evidence
from gateway.connectors.codebase.model.language_model import ModelAnswer, ModelFailed, TokenUse
from gateway.connectors.codebase.model.settings import ChosenModel
from gateway.connectors.codebase.processes import Crashed, OutOfTime, processes
from gateway.connectors.codebase.schemas.requests import MAX_COST
from gateway.threads.bridge import run_sync

CHECK_SECONDS = 0.3  # of the call's time, reserved for checking the answer
SHORTEST = 0.5  # seconds; with less time left, the model is not asked

logger = logging.getLogger(__name__)


async def with_model(
    draft: Draft, limits: Limits, chosen: ChosenModel | None, visibility: Visibility
) -> dict[str, Any]:
    """The document of the answer. If the policy withholds a part of the local answer from the caller, the model is not
    asked: the prompt holds the same texts, but not as fields that could be withheld."""
    if draft.evidence is None or chosen is None:
        return draft.document
    step = _ModelStep(draft, draft.evidence, limits, chosen)
    if bool(visibility.withheld) and await run_sync(_is_withheld, draft.document, visibility):
        return step.without("The language model was not asked: the policy withholds a part of the answer.")
    return await step.document()


def _is_withheld(document: dict[str, Any], visibility: Visibility) -> bool:
    return any(finding.kind == POLICY for finding in redact(document, visibility)[1])


class _ModelStep:
    def __init__(self, draft: Draft, evidence: Evidence, limits: Limits, chosen: ChosenModel) -> None:
        self._draft, self._evidence, self._limits, self._chosen = draft, evidence, limits, chosen
        self._left: float = limits.cost - draft.document["metadata"]["totalCost"]
        self._most = chosen.cost(TokenUse(evidence.prompt.most_tokens, chosen.most_written))
        self._step = Step(STEP)
        self._began = time.monotonic()

    async def document(self) -> dict[str, Any]:
        refusal = self._refusal()
        if refusal:
            self._step.is_over_budget = True
            return self.without(f"The language model was not asked: {refusal}.")
        try:
            answer = await self._answer()
        except ModelFailed as failed:
            self._charge(failed.use)
            return self.without(f"The language model was not used: {failed.reason}.", failed.model)
        self._charge(answer.use)
        checked = await self._checked(answer)
        if checked.document is None:
            return self.without(f"The language model's answer was not used: {checked.reason}.", answer.model)
        return self._noted(checked.document, answer.model)

    def _refusal(self) -> str:
        """Why the model cannot be asked within the budget; empty if it can."""
        if self._draft.document["metadata"]["budgetExceeded"]:
            return "the budget was used up"
        if self._most > self._left:
            return f"it could cost up to ${self._most:.4f}, and ${self._left:.4f} was left{self._remedy()}"
        if self._seconds < SHORTEST:
            return "no time was left"
        return ""

    def _remedy(self) -> str:
        """Suggests a budget in whole cents, with a margin of 10 % because the local engine may take longer next
        time."""
        enough = math.ceil((self._limits.cost - self._left + self._most) * 110) / 100
        return f". Set maxCost to {enough:g}" if enough <= MAX_COST else ""

    @property
    def _seconds(self) -> float:
        """The time that the model may take."""
        return min(self._chosen.seconds, self._limits.ends_at - time.monotonic() - CHECK_SECONDS)

    async def _answer(self) -> ModelAnswer:
        seconds = self._seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._chosen.model.answer(self._evidence.prompt, self._chosen.most_written)
        except TimeoutError:
            self._step.is_over_budget = seconds < self._chosen.seconds
            raise ModelFailed(f"it did not answer within {seconds:.1f} seconds", use=None) from None
        except ModelFailed:
            raise
        except Exception:
            logger.exception("language model failed")
            raise ModelFailed("it failed", use=None) from None

    def _charge(self, use: TokenUse | None) -> None:
        """Bills unknown use as the most that it can be."""
        cost = self._most if use is None else self._chosen.cost(use)
        self._step.cost += min(cost, self._left - self._step.cost)

    async def _checked(self, answer: ModelAnswer) -> CheckedAnswer:
        limits = replace(self._limits, cost=self._left - self._step.cost)
        try:
            checked = await processes.run(limits.ends_at, checked_answer, self._draft, answer.text, limits)
        except (OutOfTime, Crashed) as error:
            self._step.is_over_budget = isinstance(error, OutOfTime)
            return CheckedAnswer(None, "it could not be checked in time", 0.0)
        self._step.cost += checked.cost
        return checked

    def without(self, reason: str, model: str = "") -> dict[str, Any]:
        self._step.is_partial = True
        return self._noted(self._draft.document, model, reason)

    def _noted(self, document: dict[str, Any], model: str, *incomplete: str) -> dict[str, Any]:
        self._step.seconds = time.monotonic() - self._began
        metadata = with_step(document["metadata"], self._step, model=model, incomplete=incomplete)
        return {**document, "metadata": metadata}
