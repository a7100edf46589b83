"""The answer to a query: its results, their metadata, and suggested next queries."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar, cast

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.git.repository import opened
from gateway.connectors.codebase.index.index_place import IndexFailed, IndexGone
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.metadata import metadata_document
from gateway.connectors.codebase.model.draft import Draft, Evidence
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query.definitions import with_named_definitions
from gateway.connectors.codebase.query.formats import results
from gateway.connectors.codebase.query.natural import answer_in_words
from gateway.connectors.codebase.query.operation_table import ANSWERS
from gateway.connectors.codebase.query.query_result import QueryResult, Row
from gateway.connectors.codebase.query.request import QueryRequest
from gateway.connectors.codebase.query.short_answer import evidence_of
from gateway.connectors.codebase.query.sources import Sources
from gateway.connectors.codebase.query.suggestions import continuing, suggestions
from gateway.connectors.codebase.schemas.structured_queries import OPERATION
from gateway.connectors.codebase.secrets import sanitized

T = TypeVar("T")

INDEX_INCOMPLETE = "The index is not complete yet: files that it lacks were not searched."

logger = logging.getLogger(__name__)


def answer_query(place: ProjectPlace, request: QueryRequest, budget: Budget, *, for_model: bool = False) -> Draft:
    """The document of the answer, without the progress of the index, and the evidence from which a language model may
    answer a question. Blocks. Raises InvalidArgument and RepositoryRefused. Source: the tools' data model."""
    try:
        with place.index.reading() as store:
            return _draft(place, request, budget, store, for_model)
    except (IndexFailed, IndexGone):  # the index may just have been deleted, to be rebuilt
        logger.exception("an index cannot be read", extra={"project_root": str(place.root)})
    return _draft(place, request, budget, None, for_model)


def _draft(
    place: ProjectPlace, request: QueryRequest, budget: Budget, store: IndexStore | None, for_model: bool
) -> Draft:
    sources = Sources(place.root, opened(place.root), store, place.is_indexed, request.scope)
    return _Answer(request, sources, budget, for_model).draft()


class _Answer:
    """Builds the answer in steps. If a later step fails, the results of the first one are kept."""

    def __init__(self, request: QueryRequest, sources: Sources, budget: Budget, for_model: bool) -> None:
        self._request, self._sources, self._budget, self._for_model = request, sources, budget, for_model
        self._incomplete: list[str] = []

    def draft(self) -> Draft:
        found = self._found()
        found = self._attempt("symbols", found, self._with_named_definitions)
        first = continuing(self._request, found, is_partial=bool(self._incomplete))
        further = self._attempt("suggestions", first, lambda _: self._suggestions(found))
        with self._budget.step("write"):
            shown = replace(found, rows=[_sanitized(row) for row in found.rows])
            written = results(shown, self._request.response_format)
            further = [sanitized(each) for each in further]
        evidence = self._evidence(shown) if self._for_model and self._request.question else None
        document = {
            "results": written,
            "metadata": metadata_document(self._budget, files_processed=found.files, incomplete=self._incomplete),
            "suggestions": further,
        }
        return Draft(document, evidence)

    def _evidence(self, shown: QueryResult) -> Evidence | None:
        request, none = self._request, cast(Evidence | None, None)
        found = self._attempt("evidence", none, lambda _: evidence_of(request.question, request.context, shown))
        if found is None and self._budget.is_exceeded:
            self._incomplete.append("The language model was not asked: the budget was used up.")
        return found

    def _found(self) -> QueryResult:
        request, sources, budget = self._request, self._sources, self._budget
        structured = request.structured
        with budget.step(structured[OPERATION] if structured else "search") as step:
            if structured:
                found = ANSWERS[structured[OPERATION]](structured, sources, budget.has_left)
            else:
                found = answer_in_words(request.question, request.context, sources, budget.has_left)
            self._incomplete += [found.left_out] if found.left_out else []
            if sources.store and not sources.is_indexed and not structured:
                self._incomplete.append(INDEX_INCOMPLETE)
            step.is_partial = bool(self._incomplete)
        return found

    def _with_named_definitions(self, found: QueryResult) -> QueryResult:
        question = self._request.question
        return with_named_definitions(question, found, self._sources) if question else found

    def _suggestions(self, found: QueryResult) -> list[str]:
        return suggestions(self._request, found, self._sources, is_partial=bool(self._incomplete))

    def _attempt(self, name: str, before: T, work: Callable[[T], T]) -> T:
        """The result of the step's `work` on `before`; `before` itself if the budget is used up or the step fails."""
        with self._budget.step(name) as step:
            if not self._budget.has_left():
                return before
            try:
                return work(before)
            except Exception:
                logger.exception("step failed", extra={"step": name})
                step.is_partial = True
                self._incomplete.append(f"The step {name} failed; the other results are complete.")
                return before


def _sanitized(row: Row) -> Row:
    return {key: sanitized(value) if isinstance(value, str) else value for key, value in row.items()}
