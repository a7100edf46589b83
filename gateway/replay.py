"""Runs a recorded read-only call again for staff. The new call is recorded as a replay, which no figure counts.

It has the tools of the original caller, but reveals no secret field, because staff read the answer.
"""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from context_protection.configuration import policies
from context_protection.core.errors import CallError, InvalidArgument
from context_protection.core.policy import Kind
from context_protection.core.tokens import claude
from gateway.access import callers
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve_blocking
from telemetry.measurement import CallOutcome
from telemetry.pages.replays import Replayed

STAFF = Caller(id="replay", name="(replay)")  # if the caller's key no longer exists


def run(operation: str, arguments: Mapping[str, Any], caller: str = "") -> Replayed:
    """The current answer, which may be an error. `caller`: the name of the key that made the call. Blocks."""
    began = time.perf_counter()
    try:
        outcome, body, tokens = _answer(operation, arguments, caller_for_staff(caller))
    except CallError as error:
        outcome, body, tokens = CallOutcome.ERROR.value, error.body, claude.count(error.body.decode())
    return Replayed(outcome, body.decode(), tokens, (time.perf_counter() - began) * 1000)


def _answer(name: str, arguments: Mapping[str, Any], caller: Caller) -> tuple[str, bytes, int]:
    """Raises CallError."""
    operation = catalogue.get(name, caller.tools.hidden)
    if operation.kind is Kind.ACTION:
        raise InvalidArgument(
            f"{name} changes something, so it is never replayed.",
            reason="tool_acts",
            parameter="operation",
            value=name,
            expected="an operation that only reads",
        )
    # Hints that equal no other call's, so that the answer does not come from the response cache.
    call = Call(name, arguments, caller, Transport.REPLAY, partial(hints.mcp))
    envelope = serve_blocking(call)
    outcome = CallOutcome.ERROR.value if envelope.failure else envelope.outcome
    return outcome, envelope.body, envelope.claude_tokens


def caller_for_staff(name: str) -> Caller:
    """The caller whose key has that name, with no secret field revealed, because staff read the answer. If there is no
    such key: `STAFF`, without the fields that are withheld from all keys."""
    found = next((each for each in callers.loaded().by_digest.values() if each.name == name), None)
    if found is None:
        return replace(STAFF, withheld=policies.budgets().withheld(""))
    return replace(found, reveal=frozenset())
