"""Calls of dbp_commit_message, whose answers are checked as every answer is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.connectors.codebase.budget import Budget
from gateway.connectors.codebase.messages.answer import answer_commit_message
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.schemas.commit_response import COMMIT_MESSAGE_RESPONSE
from gateway.connectors.codebase.schemas.requests import COMMIT_MESSAGE
from gateway.connectors.codebase.schemas.validation import AnswerSchema

Ask = Callable[..., dict[str, Any]]

DEFAULTS = {name: schema["default"] for name, schema in COMMIT_MESSAGE.items() if "default" in schema}
PROGRESS = {
    "status": "NotStarted",
    "processedFiles": 0,
    "totalFiles": 0,
    "percentComplete": 0,
    "currentActivity": "",
    "estimatedCompletionTimeMs": 0,
}
SCHEMA = AnswerSchema(COMMIT_MESSAGE_RESPONSE)


def message_of(answer: dict[str, Any]) -> str:
    """The whole message, as it would be committed."""
    return "\n\n".join(part for part in answer["commitMessage"].values() if part)


@pytest.fixture
def ask() -> Ask:
    """The answer about the repository at `root`. `budget`: else a dollar and a minute."""

    def ask(root: Path, *, budget: Budget | None = None, **given: Any) -> dict[str, Any]:
        arguments = DEFAULTS | given
        request = CommitRequest.of(arguments)
        answer = answer_commit_message(root, request, budget or Budget(limit=1.0, seconds=60, price=0.01)).document
        SCHEMA.checked({**answer, "metadata": {**answer["metadata"], "backgroundTaskProgress": PROGRESS}})
        assert len(message_of(answer)) <= arguments["maxLength"]
        assert len(answer["commitMessage"]["title"]) <= min(72, arguments["maxLength"])
        return answer

    return ask
