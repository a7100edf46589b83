"""The codebase tools as operations. They are offered while a project is registered."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from django.conf import settings

from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from context_protection.core.shapes import Section, Shape
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.connectors.codebase.answers import answered
from gateway.connectors.codebase.budget import Limits
from gateway.connectors.codebase.indexing.index_places import place_of
from gateway.connectors.codebase.indexing.wait import progress_until
from gateway.connectors.codebase.known_projects import all_projects
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.messages.work import commit_message_work
from gateway.connectors.codebase.model.settings import asks_client, chosen_model
from gateway.connectors.codebase.model_step import with_model
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.progress import Progress
from gateway.connectors.codebase.query.request import QueryRequest
from gateway.connectors.codebase.query.work import query_work
from gateway.connectors.codebase.schemas.commit_response import COMMIT_MESSAGE_RESPONSE
from gateway.connectors.codebase.schemas.query_response import GENERAL_QUERY_RESPONSE
from gateway.connectors.codebase.schemas.requests import (
    COMMIT_MESSAGE,
    COMMIT_MESSAGE_SHOWN,
    GENERAL_QUERY,
    GENERAL_QUERY_SHOWN,
    MAX_SECONDS,
)
from gateway.connectors.codebase.schemas.validation import AnswerSchema
from gateway.connectors.codebase.selection import selected_project
from gateway.dispatch.errors import too_slow

Arguments = Mapping[str, Any]

LONGEST_WAIT = 30.0  # seconds for an incomplete index; a question waits at most half of its timeout
THRESHOLD = 6_000  # tokens up to which an answer is sent whole; its excerpts are limited to fewer
TOTAL_SECONDS = 310  # the longest timeout that a caller may set, plus time for sending the answer

_GENERAL_QUERY_ANSWER = AnswerSchema(GENERAL_QUERY_RESPONSE)
_COMMIT_MESSAGE_ANSWER = AnswerSchema(COMMIT_MESSAGE_RESPONSE)


async def _general_query(arguments: Arguments, caller: Caller) -> Record:
    began = time.monotonic()
    request, project = QueryRequest.of(arguments), selected_project(arguments, caller)
    limits = Limits(arguments["maxCost"], began + arguments["timeout"], settings.CODEBASE_CPU_PRICE)
    waits = min(arguments["timeout"] / 2, LONGEST_WAIT) if request.question else 0.0
    progress = await progress_until(project, began + waits)
    place = ProjectPlace(project.root, place_of(project.id), progress.is_complete)
    model = chosen_model()
    draft = await answered(project, limits, query_work, place, request, model is not None)
    document = await with_model(draft, limits, model, caller.visibility("dbp_general_query"))
    return _record({"results": {"text": ""}, "suggestions": [], **document}, progress, _GENERAL_QUERY_ANSWER)


async def _commit_message(arguments: Arguments, caller: Caller) -> Record:
    began = time.monotonic()
    request, project = CommitRequest.of(arguments), selected_project(arguments, caller)
    limits = Limits(arguments["maxCost"], began + MAX_SECONDS, settings.CODEBASE_CPU_PRICE)
    progress = await progress_until(project, began)
    model = chosen_model()
    draft = await answered(project, limits, commit_message_work, project.root, request, model is not None)
    document = await with_model(draft, limits, model, caller.visibility("dbp_commit_message"))
    if "commitMessage" not in document:
        raise too_slow(MAX_SECONDS)
    return _record(document, progress, _COMMIT_MESSAGE_ANSWER)


def _record(document: dict[str, Any], progress: Progress, schema: AnswerSchema) -> Record:
    metadata = {**document["metadata"], "backgroundTaskProgress": progress.as_document()}
    whole = schema.checked({**document, "metadata": metadata})
    return Record(whole, Shape("answer", sections=tuple(Section(name, (name,)) for name in whole)))


def _operation(name: str, parameters: Mapping[str, Any], **more: Any) -> Operation:
    return Operation(
        name=name,
        kind=Kind.RECORD,
        parameters=parameters,
        endpoint=f"/api/v1/tools/{name}",
        form=("fields", "cursor"),
        is_strict=True,
        called_once=True,
        asks=asks_client(),
        asks_again=asks_client(),
        settings={"timeout_seconds": TOTAL_SECONDS, "token_budget_threshold": THRESHOLD},
        **more,
    )


def operations() -> Sequence[Operation]:
    if not all_projects():
        return []
    return [
        _operation(
            "dbp_general_query",
            GENERAL_QUERY,
            shown=GENERAL_QUERY_SHOWN,
            title="Ask about a codebase",
            description="Answers questions about a source tree: files, lines, definitions, references, history.",
            required=("query",),
            fetch=_general_query,
        ),
        _operation(
            "dbp_commit_message",
            COMMIT_MESSAGE,
            shown=COMMIT_MESSAGE_SHOWN,
            title="Write a commit message",
            description="Writes the message of a diff, of the changes since a commit, or of the work tree.",
            fetch=_commit_message,
        ),
    ]
