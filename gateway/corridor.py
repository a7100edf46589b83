"""serve(): the one way of a call, whatever the door (design: the way of one call)."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from context_protection.errors import CallError, InternalError
from context_protection.lists import page_span
from context_protection.payloads import Ask, Envelope
from context_protection.pipeline import needs_no_fetch, protect
from context_protection.policies import policy_for
from context_protection.policy import Kind, Policy
from context_protection.stores import walks
from gateway import audit
from gateway.access.callers import Caller, confirm
from gateway.arguments import validated
from gateway.hints import Hints
from gateway.operations import FORM_NAMES, Operation, catalogue
from gateway.process.bridge import run_sync
from telemetry import recorder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """One call as a door hands it in. `arguments` are the caller's, not yet validated."""

    operation: str
    arguments: Mapping[str, Any]
    caller: Caller
    door: str
    hints: Hints
    id: str = field(default_factory=lambda: uuid4().hex)
    started: float = field(default_factory=time.perf_counter)

    @property
    def milliseconds(self) -> float:
        return (time.perf_counter() - self.started) * 1000


async def serve(call: Call) -> Envelope:
    """Answers a call from the loop. Its connection may be open for long, so that the caller is looked at again.
    Raises CallError, and nothing else."""
    return await run_sync(serve_blocking, call, caller_is_fresh=False)


def serve_blocking(call: Call, *, caller_is_fresh: bool = True) -> Envelope:
    """Answers a call on a thread that may block. Raises CallError, and nothing else."""
    try:
        if not caller_is_fresh:
            call = replace(call, caller=confirm(call.caller))
        operation = catalogue.get(call.operation, call.caller.tools.hidden)
        policy = policy_for(operation.name)
        envelope = _answer(call, operation, policy)
    except CallError as error:
        _record_error(call, error)
        raise
    except Exception:
        logger.exception("call failed", extra={"request_id": call.id, "operation": call.operation})
        failure = _failure(call)
        _record_error(call, failure)
        raise failure from None
    _record(call, operation, policy, envelope)
    return envelope


def _answer(call: Call, operation: Operation, policy: Policy) -> Envelope:
    given = validated(operation, call.arguments)
    own = {name: value for name, value in given.items() if name not in FORM_NAMES}
    ask = _ask(call, operation, given, own)
    payload = None if needs_no_fetch(ask.walk) else operation.fetch(ask.arguments, call.caller)
    return protect(payload, ask, policy, walks)


def _ask(call: Call, operation: Operation, given: Mapping[str, Any], own: Mapping[str, Any]) -> Ask:
    """What is asked, with the walk that a cursor points into; its first page's arguments then apply."""
    walk, position, arguments = None, None, {**operation.defaults, **own}
    if "cursor" in given:
        walk, position = walks.resume(given["cursor"], operation.name, call.caller.id, own)
        arguments = dict(walk.arguments)
    hidden = call.caller.tools.hidden
    opens = catalogue.find(operation.record_operation, hidden) if operation.record_operation else None
    return Ask(
        operation=operation.name,
        caller=call.caller.id,
        hints=lambda name, more: _hint(call, catalogue.get(name), more),
        arguments=arguments,
        walk=walk,
        position=position,
        limit=given.get("limit"),
        fields=given.get("fields"),
        format=given.get("format"),
        pages=page_span(given["pages"], with_cursor=walk is not None) if "pages" in given else None,
        result_operation="result_get" if "result_get" not in hidden else None,
        record_operation=opens.name if opens else None,
        record_arguments={"fields": "all"} if opens and opens.kind is Kind.RECORD else {},
    )


def _hint(call: Call, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The door's way to say "call this", without what is so by default."""
    defaults = operation.defaults
    return call.hints(operation, {name: value for name, value in arguments.items() if defaults.get(name) != value})


def _failure(call: Call) -> InternalError:
    return InternalError(
        "Something failed on our side; nothing was changed.",
        reason="internal_error",
        suggestion=f"Try again. If it stays, tell the operator the request id {call.id}.",
    )


# -- Telemetry --------------------------------------------------------------------------------------


def _record(call: Call, operation: Operation, policy: Policy, envelope: Envelope) -> None:
    _note(
        call,
        operation,
        threshold=policy.token_budget_threshold,
        estimated_tokens=envelope.estimated_tokens,
        claude_tokens=envelope.claude_tokens,
        original_tokens=envelope.original_tokens,
        baseline_tokens=envelope.baseline,
        response_bytes=len(envelope.body),
        item_count=envelope.items,
        outcome=envelope.outcome,
        pagination_used=envelope.paginated,
        summarization_used=envelope.summarized,
        chunking_used=envelope.chunked,
        oversized=envelope.oversized,
        missing_fields=", ".join(envelope.missing_fields),
    )
    audit.consider(call.id, operation.name, envelope)


def record_refused(call: Call, error: CallError) -> None:
    """A call that its door has refused before it was one. Never waits, never raises."""
    _record_error(call, error)


def _record_error(call: Call, error: CallError) -> None:
    _note(call, catalogue.find(call.operation), outcome="error", error_reason=error.reason)


def _note(call: Call, operation: Operation | None, **figures: Any) -> None:
    recorder.record(
        recorder.Call(
            request_id=call.id,
            operation=operation.name if operation else "(unknown)",
            endpoint=operation.endpoint if operation else "",
            kind=operation.kind if operation else "",
            door=call.door,
            caller=call.caller.name,
            at=datetime.now(UTC),
            latency_ms=call.milliseconds,
            **figures,
        )
    )
