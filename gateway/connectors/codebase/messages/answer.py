"""Answers dbp_commit_message in steps: read the changes, analyse them, write about them, each within its share of the
budget."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.commits.facts import ChangeFacts, facts_of, plain_facts_of
from gateway.connectors.codebase.commits.habits import Habits
from gateway.connectors.codebase.commits.impact import impact_of
from gateway.connectors.codebase.commits.message import commit_message
from gateway.connectors.codebase.commits.summaries import Summaries
from gateway.connectors.codebase.commits.truth import Truth
from gateway.connectors.codebase.git.changes import ChangeSet
from gateway.connectors.codebase.messages import documents
from gateway.connectors.codebase.messages.changes import changes_of
from gateway.connectors.codebase.messages.past_habits import habits_of
from gateway.connectors.codebase.messages.proposal import evidence_of
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.messages.secret_lines import secrets_of, without_secret_files
from gateway.connectors.codebase.messages.suggestions import suggestions
from gateway.connectors.codebase.metadata import metadata_document
from gateway.connectors.codebase.model.draft import Draft, Evidence

T = TypeVar("T")

# The shares of the budget up to which these steps may begin another piece of work. Later steps need the rest.
_READING, _LOOKING, _PAST = 0.4, 0.6, 0.75

logger = logging.getLogger(__name__)


def answer_commit_message(root: Path, request: CommitRequest, budget: Budget, *, for_model: bool = False) -> Draft:
    """The document of the answer, without the progress of the index, and the evidence from which a language model may
    improve the message. Blocks. Raises CallError for a request that cannot be answered, and RepositoryRefused. Source:
    the tools' data model."""
    return _MessageAnswer(root, request, budget, for_model).draft()


class _MessageAnswer:
    """Builds the answer in steps. The answer names a step that fails, and keeps the results of the others."""

    def __init__(self, root: Path, request: CommitRequest, budget: Budget, for_model: bool) -> None:
        self._root, self._request, self._budget, self._for_model = root, request, budget, for_model
        self._incomplete: list[str] = []

    def draft(self) -> Draft:
        with self._budget.step("diff"):
            read = changes_of(self._request, self._root, lambda: self._budget.has_left(_READING))
            changes = without_secret_files(read)
        facts = self._attempt("symbols", lambda: plain_facts_of(changes), lambda: self._facts(changes))
        habits: Habits | None = self._attempt("history", lambda: None, self._habits)
        with self._budget.step("message"):
            looked_at = [file.change for file in facts.files]
            secrets = secrets_of(looked_at)
            truth = Truth(looked_at, secrets)
            summaries = Summaries(secrets, truncated=facts.truncated)
            message = commit_message(
                facts,
                truth,
                summaries,
                habits,
                form=self._request.form,
                scope=self._request.scope,
                max_length=self._request.max_length,
            )
        found: dict[str, Any] = {"commitMessage": documents.message_document(message)}
        if self._request.includes_impact:
            impact: dict[str, Any] = self._attempt(
                "impact", dict, lambda: documents.impact_document(impact_of(facts), truth)
            )
            found |= {"impactAnalysis": impact} if impact else {}
        with self._budget.step("files"):
            found["changedFiles"] = self._files(facts, summaries)
        evidence: Evidence | None = None
        if self._for_model:
            evidence = self._attempt(
                "evidence", lambda: None, lambda: evidence_of(self._request, message, facts, secrets)
            )
        incomplete = [*documents.left_out(facts), *self._incomplete]
        document = {
            **found,
            "metadata": metadata_document(self._budget, files_processed=len(facts.files), incomplete=incomplete),
            "suggestions": suggestions(self._request, facts, self._budget),
        }
        return Draft(document, evidence)

    def _facts(self, changes: ChangeSet) -> ChangeFacts:
        return facts_of(changes, lambda: self._budget.has_left(_LOOKING))

    def _habits(self) -> Habits:
        """The habits are read for a diff too: the history shows how the project's authors name changes to the same
        places."""
        return habits_of(self._root, lambda: self._budget.has_left(_PAST))

    def _files(self, facts: ChangeFacts, summaries: Summaries) -> list[dict[str, Any]]:
        found = []
        for at, file in enumerate(facts.files):
            if not self._budget.has_left():
                self._incomplete.append(f"The summaries of {len(facts.files) - at:,} files: the budget was used up.")
                found += [documents.file_document(each.change, documents.NO_SUMMARY) for each in facts.files[at:]]
                break
            found.append(documents.file_document(file.change, summaries.of(file)))
        return found + [documents.file_document(file, documents.NOT_LOOKED_AT) for file in facts.unread]

    def _attempt(self, name: str, instead: Callable[[], T], work: Callable[[], T]) -> T:
        """The result of `work`, or of `instead` if `work` fails."""
        with self._budget.step(name) as step:
            try:
                return work()
            except Exception:
                logger.exception("step failed", extra={"step": name})
                step.is_partial = True
                self._incomplete.append(f"The step {name} failed; the other results are complete.")
                return instead()
