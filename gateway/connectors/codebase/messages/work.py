"""The job of a child process for dbp_commit_message. Needs no Django."""

from pathlib import Path

from gateway.connectors.codebase.budget import Limits
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.model.draft import Draft


def commit_message_work(root: Path, request: CommitRequest, for_model: bool, limits: Limits) -> Draft:
    """See `answer_commit_message`."""
    from gateway.connectors.codebase.messages.answer import answer_commit_message  # only in the child process

    return answer_commit_message(root, request, limits.budget(), for_model=for_model)
