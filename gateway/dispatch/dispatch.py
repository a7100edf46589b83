"""The dispatcher: every call, whatever its transport, goes through `serve` or `serve_blocking`."""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from random import getrandbits
from typing import Any, ParamSpec, TypeVar, cast

from asgiref.sync import async_to_sync

from context_protection.configuration import policies
from context_protection.configuration.budgets import Budgets
from context_protection.configuration.policies import last_policy_for, policy_for
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import (
    CallError,
    InternalError,
    InvalidCursor,
    InvalidHandle,
    StoreUnavailable,
    TooSlow,
    invalid_cursor,
    store_unavailable,
)
from context_protection.core.lists import page_span
from context_protection.core.payloads import Ask, Envelope, Payload
from context_protection.core.policy import Kind, Policy
from context_protection.core.protect import kept_payload, needs_no_fetch, protect
from context_protection.core.upstream_pages import PagedRows
from context_protection.core.withheld import Counts
from context_protection.stores.database_errors import is_away
from context_protection.stores.snapshots import walks
from gateway.access import callers
from gateway.access.callers import Caller, confirm
from gateway.catalog.arguments import validated
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition import FORM_NAMES
from gateway.catalog.operation import Fetch, FetchAsync, Fetched, Operation
from gateway.dispatch import audit
from gateway.dispatch.hints import Hints
from gateway.dispatch.redaction import redacted
from gateway.dispatch.response_cache import KEPT_SECONDS, Kept, Key, answers, canonical, state_of
from gateway.dispatch.secret_arguments import check_revealed
from gateway.process.bridge import LANE_WIDTH, check_wanted, run_sync_and
from gateway.process.fair_share import Lanes
from telemetry import recorder
from telemetry.calls import WithheldCount

P = ParamSpec("P")
T = TypeVar("T")

LOST = ("cursor_expired", "handle_expired")
LONG_ARGUMENTS = 10_000  # characters

lanes = Lanes(LANE_WIDTH)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Call:
    """One call as a transport hands it in. `arguments` are the caller's, not yet validated."""

    operation: str
    arguments: Mapping[str, Any]
    caller: Caller
    door: str
    hints: Hints
    lane: Hashable = None  # the concurrency limit that the call counts against; None: the caller's
    id: str = field(default_factory=lambda: f"{getrandbits(128):032x}")  # an identifier, not a secret
    started: float = field(default_factory=time.perf_counter)

    @cached_property
    def key(self) -> Key | None:
        """The cache key. None: the response is not cached. Pages after the first are each read once, so they are not
        cached."""
        if "cursor" in self.arguments:
            return None
        try:
            return Key(self.operation, self.caller.owner, self.hints, canonical(self.arguments))
        except TypeError:
            return None

    @property
    def shared_lane(self) -> Hashable:
        return self.lane or self.caller.id

    @property
    def milliseconds(self) -> float:
        return (time.perf_counter() - self.started) * 1000


async def serve(call: Call) -> Envelope:
    """Answers a call on the event loop. The connection may have been open for long, so the caller's key is checked
    again. Cancelling this coroutine also stops the fetch or query that it waits for. Raises only CallError."""
    cached = _cached_answer(call)
    if cached is not None:
        return cached
    async with _time_limit(call, last_policy_for(call.operation)):
        loaded = _loaded_for(call)
        if loaded is not None:
            return await _fetch_and_finish(_prepare(call, loaded, caller_is_fresh=False))
        outcome = await on_thread(call.shared_lane, _answer_or_prepare, call, caller_is_fresh=False)
        return outcome if isinstance(outcome, Envelope) else await _fetch_and_finish(outcome)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Keys and budgets that are already in memory. With them, preparing a call does not block."""

    keys: callers.Keys
    budgets: Budgets


def _loaded_for(call: Call) -> Loaded | None:
    """The configuration to prepare the call on the event loop, where the upstream is the first thing to wait for. None:
    something must be loaded or read first, or the arguments are so long that validating them would hold up the loop."""
    operation = catalogue.find(call.operation, call.caller.tools.hidden)
    if operation is None or not operation.is_async or call.key is None or len(call.key.arguments) > LONG_ARGUMENTS:
        return None
    keys, budgets = callers.current(), policies.current()
    return Loaded(keys, budgets) if catalogue.is_current and keys is not None and budgets is not None else None


def serve_blocking(call: Call) -> Envelope:
    """Answers a call on a thread that may block. The caller has just been authenticated. Raises only CallError."""
    cached = _cached_answer(call)
    if cached is not None:
        return cached
    with _failures_as_call_errors(call):
        outcome = _answer_or_prepare(call, caller_is_fresh=True)
    return outcome if isinstance(outcome, Envelope) else async_to_sync(_fetch_and_finish_in_time)(outcome)


@asynccontextmanager
async def _time_limit(call: Call, policy: Policy) -> AsyncIterator[None]:
    """Stops the call at the policy's timeout."""
    try:
        async with asyncio.timeout(policy.timeout_seconds):
            with _failures_as_call_errors(call):
                yield
    except TimeoutError:
        error = _too_slow(call, policy.timeout_seconds)
        _record_error(call, error)
        raise error from None
    except asyncio.CancelledError:
        _record_figures(call, catalogue.find(call.operation), outcome="error", error_reason="cancelled")
        raise


async def _fetch_and_finish_in_time(prepared: "PreparedCall") -> Envelope:
    async with _time_limit(prepared.call, prepared.policy):
        return await _fetch_and_finish(prepared)


def _answer_or_prepare(call: Call, *, caller_is_fresh: bool) -> "Envelope | PreparedCall":
    """Does what can be done on a thread. Gives the answer, or the prepared call where an upstream must be called, which
    happens on the event loop."""
    prepared = _prepare(call, None, caller_is_fresh=caller_is_fresh)
    if needs_no_fetch(prepared.ask.walk):
        return _finish(prepared, None)
    if prepared.operation.is_async or prepared.ask.once:
        stored = kept_payload(prepared.ask.walk, prepared.operation.shape, walks)
        if stored is not None:
            return _finish(prepared, stored)
    if prepared.ask.once and prepared.ask.walk is not None:
        raise invalid_cursor(
            "cursor_expired", prepared.call.arguments["cursor"], "What the cursor points into is gone."
        )
    if prepared.operation.is_async:
        return prepared
    return _finish(prepared, cast(Fetch, prepared.operation.fetch)(prepared.ask.arguments, prepared.call.caller))


async def _fetch_and_finish(prepared: "PreparedCall") -> Envelope:
    """Fetches from the upstream as much as this call needs, and protects it."""
    lane = prepared.call.shared_lane
    result = await cast(FetchAsync, prepared.operation.fetch)(prepared.ask.arguments, prepared.call.caller)
    fetched = result if isinstance(result, Fetched) else Fetched(result)
    if (cached := _answer_if_unchanged(prepared, fetched)) is not None:
        return cached
    payload, fresh_until = fetched.payload, fetched.fresh_until
    if isinstance(payload, PagedRows):
        payload = cast(PagedRows, redacted(payload, prepared.call.caller.reveal))
        await payload.gather(prepared.ask, prepared.policy, lambda work: on_thread(lane, work), walks)
        fresh_until = payload.fresh_until if prepared.ask.walk is None else 0.0
    return await on_thread(lane, _finish, prepared, payload, fresh_until, fetched.version)


async def on_thread(lane: Hashable, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs blocking `function` within the concurrency limit of a session. The place is free again only when the thread
    is: a cancelled function may take a while to stop."""
    await lanes.enter(lane)
    return await run_sync_and(partial(lanes.leave, lane), function, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A valid call: the caller as its key is now, the operation, the policy and the request. `state` identifies the
    data that the answer will be made from; None: the answer is not cached."""

    call: Call
    operation: Operation
    policy: Policy
    ask: Ask
    state: Hashable


def _prepare(call: Call, loaded: Loaded | None, *, caller_is_fresh: bool) -> PreparedCall:
    if loaded is None:
        catalogue.refresh()
    known = catalogue.find(call.operation)
    # Taken before any data is read, so that a later change makes the answer outdated.
    state = state_of(known) if known else None
    if not caller_is_fresh:
        call = replace(call, caller=confirm(call.caller, loaded.keys if loaded else None))
    operation = catalogue.get(call.operation, call.caller.tools.hidden)
    policy = loaded.budgets.policy(operation.name) if loaded else policy_for(operation.name)
    given = validated(operation, call.arguments)
    check_revealed(operation, given, call.caller.reveal)
    own = {name: value for name, value in given.items() if name not in FORM_NAMES}
    ask = _request(call, operation, {**operation.form_of(own), **given}, own)
    return PreparedCall(
        call, operation, policy, ask, state if _is_current(operation, loaded, caller_is_fresh) else None
    )


def _is_current(operation: Operation, loaded: Loaded | None, caller_is_fresh: bool) -> bool:
    """Whether the call was prepared with the current configuration. Configuration that could not be reloaded stays in
    use (law 5), but answers made with it are not cached."""
    keys, budgets = callers.current(), policies.current()
    if budgets is None or not catalogue.is_current or catalogue.find(operation.name) is not operation:
        return False
    if loaded is not None:
        return loaded.keys is keys and loaded.budgets is budgets
    return caller_is_fresh or keys is not None


def _finish(
    prepared: PreparedCall, payload: Payload | None, fresh_until: float = math.inf, version: Hashable = None
) -> Envelope:
    check_wanted()
    call = prepared.call
    if payload is not None and not prepared.operation.is_redacted:
        payload = redacted(payload, call.caller.reveal)
    envelope = protect(payload, prepared.ask, prepared.policy, walks)
    check_wanted()
    until = time.monotonic() + min(KEPT_SECONDS, call.caller.seconds_left)
    response = Kept(envelope, prepared.policy.token_budget_threshold, prepared.state, until, fresh_until, version)
    is_fresh = version is not None or fresh_until > time.monotonic()
    if call.key is not None and prepared.state is not None and is_fresh and envelope.is_complete:
        answers.keep(call.key, response)
    _record(call, prepared.operation, response)
    audit.consider(call.id, prepared.operation.name, envelope)
    return envelope


def _cached_answer(call: Call) -> Envelope | None:
    """The cached answer of an equal call, if it is still valid. Does not block."""
    operation = catalogue.find(call.operation)
    if operation is None or call.key is None or call.caller.has_expired:
        return None
    cached = answers.find(call.key, operation)
    if cached is None:
        return None
    _record(call, operation, cached)
    return cached.envelope


def _answer_if_unchanged(prepared: PreparedCall, fetched: Fetched) -> Envelope | None:
    """The cached answer that was made from the same version of the upstream's data, if it is still valid."""
    call = prepared.call
    if call.key is None or prepared.state is None:
        return None
    cached = answers.unchanged(call.key, prepared.state, fetched.version, fetched.fresh_until)
    if cached is None:
        return None
    _record(call, prepared.operation, cached)
    return cached.envelope


@contextmanager
def _failures_as_call_errors(call: Call) -> Iterator[None]:
    """Turns every failure into a CallError, and records it."""
    try:
        yield
    except CallError as error:
        _record_error(call, error)
        if error.reason in LOST:  # otherwise, starting again would give the same dead cursor from the cache
            answers.forget(call.caller.owner)
        raise _with_advice_for_actions(call, error) from None
    except Exception as error:
        failure = _failure(call, error)
        _record_error(call, failure)
        raise failure from None


def _request(call: Call, operation: Operation, given: Mapping[str, Any], own: Mapping[str, Any]) -> Ask:
    """The request for protection. With a cursor, the snapshot (`Walk`) that it points into and the arguments of the
    first page."""
    walk, position, arguments = None, None, {**operation.defaults, **own}
    if "cursor" in given:
        walk, position = walks.resume(given["cursor"], operation.name, call.caller.owner, own)
        arguments = dict(walk.arguments)
    hidden = call.caller.tools.hidden
    record_operation = catalogue.find(operation.record_operation, hidden) if operation.record_operation else None
    return Ask(
        operation=operation.name,
        caller=call.caller.owner,
        hints=lambda name, more: _hint(call, catalogue.get(name), more),
        arguments=arguments,
        walk=walk,
        position=position,
        limit=given.get("limit"),
        fields=given.get("fields"),
        format=given.get("format"),
        pages=page_span(given["pages"], with_cursor=walk is not None) if "pages" in given else None,
        result_operation="result_get" if "result_get" not in hidden else None,
        record_operation=record_operation.name if record_operation else None,
        record_arguments=_record_arguments(operation, record_operation, arguments) if record_operation else {},
        record_key=operation.record_key,
        record_is_row=operation.record_is_row,
        once=operation.is_called_once,
    )


def _record_arguments(operation: Operation, target: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments, beside the row's key, of the call that fetches one row of this list."""
    shared = {target_name: arguments[own] for target_name, own in operation.record_shared.items() if own in arguments}
    return {**shared, **({"fields": "all"} if target.kind is Kind.RECORD else {})}


def _hint(call: Call, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """How the caller's transport says "call this". Arguments that equal their defaults are left out."""
    defaults = operation.defaults
    converted = {name: _as_taken(value, operation.parameters.get(name, {})) for name, value in arguments.items()}
    return call.hints(operation, {name: value for name, value in converted.items() if defaults.get(name) != value})


def _as_taken(value: Any, schema: Mapping[str, Any]) -> Any:
    """The value in the type that the target operation takes: a row's key may be a number where a string is expected."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and schema.get("type") == "string" else value


def _with_advice_for_actions(call: Call, error: CallError) -> CallError:
    """The error with other advice for actions. Never suggest calling an action again to get the rest of its answer."""
    if isinstance(error, InvalidCursor) and _is_action(call.operation):
        return replace(error, suggestion="Without cursor it is done once more: call it so only where that is meant.")
    if isinstance(error, InvalidHandle) and _is_action(error.made_by):
        again = f"Calling {error.made_by} again does it once more: call it so only where that is meant."
        return replace(error, suggestion=again)
    return error


def _is_action(name: str) -> bool:
    operation = catalogue.find(name)
    return operation is not None and operation.kind is Kind.ACTION


def _failure(call: Call, error: Exception) -> CallError:
    if is_away(error):
        logger.warning("database away", extra={"request_id": call.id, "error": type(error).__name__})
        return _store_error_for(call, store_unavailable(1))
    logger.exception("call failed", extra={"request_id": call.id, "operation": call.operation})
    if _is_action(call.operation):
        said, advice = "it may have been done all the same", "Look whether it was done"
    else:
        said, advice = "nothing was changed", "Try again"
    return InternalError(
        f"Something failed on our side; {said}.",
        reason="internal_error",
        suggestion=f"{advice}. If it stays, tell the operator the request id {call.id}.",
    )


def _store_error_for(call: Call, error: StoreUnavailable) -> StoreUnavailable:
    """An action may have been done before the database went away, and the error says so."""
    if not _is_action(call.operation):
        return error
    said = "A store of this server went away during the call; what was called may have been done all the same."
    return replace(error, message=said, suggestion="Look whether it was done before you call again.")


def _too_slow(call: Call, seconds: int) -> TooSlow:
    return TooSlow(
        f"The call was stopped after {seconds} seconds.",
        reason="timeout",
        suggestion="Ask for less at once (where, aggregate, a smaller limit), or try again. Ops can raise "
        "timeoutSeconds in the operation's budget.",
        retry_after=5,
    )


# -- Telemetry --------------------------------------------------------------------------------------


def _record(call: Call, operation: Operation, response: Kept) -> None:
    envelope = response.envelope
    _record_figures(
        call,
        operation,
        threshold=response.threshold,
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
        withheld=_counts(envelope.withheld),
    )


def _counts(found: Counts) -> tuple[WithheldCount, ...]:
    return tuple(WithheldCount(each.path, each.kind, each.how, count) for each, count in found.items()) if found else ()


def record_refused(call: Call, error: CallError) -> None:
    """Records a call that its transport rejected before dispatching it. Does not block or raise."""
    _record_error(call, error)


def _record_error(call: Call, error: CallError) -> None:
    _record_figures(call, catalogue.find(call.operation), outcome="error", error_reason=error.reason)


def _record_figures(call: Call, operation: Operation | None, **figures: Any) -> None:
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
