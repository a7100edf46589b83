"""What a process does for dbp_commit_message. It needs no Django."""

from pathlib import Path

from gateway.connectors.codebase.budget import Limits
from gateway.connectors.codebase.messages.request import CommitRequest
from gateway.connectors.codebase.model.draft import Draft


def commit_message_work(root: Path, request: CommitRequest, for_model: bool, limits: Limits) -> Draft:
    """As `answer_commit_message`."""
    from gateway.connectors.codebase.messages.answer import answer_commit_message  # in the process that answers alone

    return answer_commit_message(root, request, limits.budget(), for_model=for_model)
