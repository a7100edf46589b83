"""serve(): the one way of a call, whatever the door."""

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
from gateway.catalog.operation import FORM_NAMES, Fetch, FetchAsync, Fetched, Operation
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
    """One call as a door hands it in. `arguments` are the caller's, not yet validated."""

    operation: str
    arguments: Mapping[str, Any]
    caller: Caller
    door: str
    hints: Hints
    lane: Hashable = None  # with whose calls it shares threads; None: the caller's
    id: str = field(default_factory=lambda: f"{getrandbits(128):032x}")  # a name, and no secret
    started: float = field(default_factory=time.perf_counter)

    @cached_property
    def key(self) -> Key | None:
        """What an equal call has in common with it. None: its answer is not kept (a page of a walk is read once)."""
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
    """Answers a call from the loop. Its connection may be open for long, so that the caller is looked at again.
    Cancelling it stops what it waits for. Raises CallError, and nothing else."""
    again = _again(call)
    if again is not None:
        return again
    async with _in_time(call, last_policy_for(call.operation)):
        loaded = _loaded_for(call)
        if loaded is not None:
            return await _go_on(_begin(call, loaded, caller_is_fresh=False))
        reached = await on_thread(call.shared_lane, _reached, call, caller_is_fresh=False)
        return reached if isinstance(reached, Envelope) else await _go_on(reached)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Configuration as it is in memory: with it, a call begins without blocking."""

    keys: callers.Keys
    budgets: Budgets


def _loaded_for(call: Call) -> Loaded | None:
    """What it takes to begin on the loop, where the first thing to wait for is the upstream. None: something must be
    loaded or read, or is long, which would hold up the loop."""
    operation = catalogue.find(call.operation, call.caller.tools.hidden)
    if operation is None or not operation.is_async or call.key is None or len(call.key.arguments) > LONG_ARGUMENTS:
        return None
    keys, budgets = callers.current(), policies.current()
    return Loaded(keys, budgets) if catalogue.is_current and keys is not None and budgets is not None else None


def serve_blocking(call: Call) -> Envelope:
    """Answers a call on a thread that may block, of a caller who has just been let in. Raises CallError, and nothing
    else."""
    again = _again(call)
    if again is not None:
        return again
    with _failures(call):
        reached = _reached(call, caller_is_fresh=True)
    return reached if isinstance(reached, Envelope) else async_to_sync(_go_on_in_time)(reached)


@asynccontextmanager
async def _in_time(call: Call, policy: Policy) -> AsyncIterator[None]:
    """What is not done in the policy's time is stopped."""
    try:
        async with asyncio.timeout(policy.timeout_seconds):
            with _failures(call):
                yield
    except TimeoutError:
        error = _too_slow(call, policy.timeout_seconds)
        _record_error(call, error)
        raise error from None
    except asyncio.CancelledError:
        _note(call, catalogue.find(call.operation), outcome="error", error_reason="cancelled")
        raise


async def _go_on_in_time(begun: "Begun") -> Envelope:
    async with _in_time(begun.call, begun.policy):
        return await _go_on(begun)


def _reached(call: Call, *, caller_is_fresh: bool) -> "Envelope | Begun":
    """What can be reached on a thread: the answer, or the call to an upstream, which is made on the loop."""
    begun = _begin(call, None, caller_is_fresh=caller_is_fresh)
    if needs_no_fetch(begun.ask.walk):
        return _end(begun, None)
    if begun.operation.is_async or begun.ask.once:
        kept = kept_payload(begun.ask.walk, begun.operation.shape, walks)
        if kept is not None:
            return _end(begun, kept)
    if begun.ask.once and begun.ask.walk is not None:
        raise invalid_cursor("cursor_expired", begun.call.arguments["cursor"], "What the cursor points into is gone.")
    if begun.operation.is_async:
        return begun
    return _end(begun, cast(Fetch, begun.operation.fetch)(begun.ask.arguments, begun.call.caller))


async def _go_on(begun: "Begun") -> Envelope:
    """Asks the upstream, for as much as this call needs, and protects what it gave."""
    lane = begun.call.shared_lane
    given = await cast(FetchAsync, begun.operation.fetch)(begun.ask.arguments, begun.call.caller)
    fetched = given if isinstance(given, Fetched) else Fetched(given)
    if (again := _unchanged(begun, fetched)) is not None:
        return again
    payload, fresh_until = fetched.payload, fetched.fresh_until
    if isinstance(payload, PagedRows):
        payload = cast(PagedRows, redacted(payload, begun.call.caller.reveal))
        await payload.gather(begun.ask, begun.policy, lambda work: on_thread(lane, work), walks)
        fresh_until = payload.fresh_until if begun.ask.walk is None else 0.0
    return await on_thread(lane, _end, begun, payload, fresh_until, fetched.version)


async def on_thread(lane: Hashable, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs blocking `function` in the lane of a session, which is free again when the thread is: what is cancelled may
    still take a while to stop."""
    await lanes.enter(lane)
    return await run_sync_and(partial(lanes.leave, lane), function, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that is valid, of a caller as its key is now: what it asks of which operation, under which policy; and
    the state of what its answer will be made from."""

    call: Call
    operation: Operation
    policy: Policy
    ask: Ask
    state: Hashable


def _begin(call: Call, loaded: Loaded | None, *, caller_is_fresh: bool) -> Begun:
    if loaded is None:
        catalogue.refresh()
    known = catalogue.find(call.operation)
    state = state_of(known) if known else None  # before anything of it is read: what then changes makes it an old one
    if not caller_is_fresh:
        call = replace(call, caller=confirm(call.caller, loaded.keys if loaded else None))
    operation = catalogue.get(call.operation, call.caller.tools.hidden)
    policy = loaded.budgets.policy(operation.name) if loaded else policy_for(operation.name)
    given = validated(operation, call.arguments)
    check_revealed(operation, given, call.caller.reveal)
    own = {name: value for name, value in given.items() if name not in FORM_NAMES}
    ask = _ask(call, operation, {**operation.form_of(own), **given}, own)
    return Begun(call, operation, policy, ask, state if _is_current(operation, loaded, caller_is_fresh) else None)


def _is_current(operation: Operation, loaded: Loaded | None, caller_is_fresh: bool) -> bool:
    """Whether all that a call has begun with is configuration as it is now. What could not be loaded anew goes on being
    used (law 5), but no answer made of it outlives that."""
    keys, budgets = callers.current(), policies.current()
    if budgets is None or not catalogue.is_current or catalogue.find(operation.name) is not operation:
        return False
    if loaded is not None:
        return loaded.keys is keys and loaded.budgets is budgets
    return caller_is_fresh or keys is not None


def _end(begun: Begun, payload: Payload | None, fresh_until: float = math.inf, version: Hashable = None) -> Envelope:
    check_wanted()
    call = begun.call
    if payload is not None and not begun.operation.is_redacted:
        payload = redacted(payload, call.caller.reveal)
    envelope = protect(payload, begun.ask, begun.policy, walks)
    check_wanted()
    until = time.monotonic() + min(KEPT_SECONDS, call.caller.seconds_left)
    kept = Kept(envelope, begun.policy.token_budget_threshold, begun.state, until, fresh_until, version)
    is_fresh = version is not None or fresh_until > time.monotonic()
    if call.key is not None and begun.state is not None and is_fresh and envelope.is_complete:
        answers.keep(call.key, kept)
    _record(call, begun.operation, kept)
    audit.consider(call.id, begun.operation.name, envelope)
    return envelope


def _again(call: Call) -> Envelope | None:
    """The answer that an equal call got, if it still stands. Waits for nothing."""
    operation = catalogue.find(call.operation)
    if operation is None or call.key is None or call.caller.has_expired:
        return None
    kept = answers.find(call.key, operation)
    if kept is None:
        return None
    _record(call, operation, kept)
    return kept.envelope


def _unchanged(begun: Begun, fetched: Fetched) -> Envelope | None:
    """The answer that was made of just this, if it still stands."""
    call = begun.call
    if call.key is None or begun.state is None:
        return None
    kept = answers.unchanged(call.key, begun.state, fetched.version, fetched.fresh_until)
    if kept is None:
        return None
    _record(call, begun.operation, kept)
    return kept.envelope


@contextmanager
def _failures(call: Call) -> Iterator[None]:
    """What goes wrong leaves as a CallError, and is recorded."""
    try:
        yield
    except CallError as error:
        _record_error(call, error)
        if error.reason in LOST:  # or a new beginning would be answered with the same cursor
            answers.forget(call.caller.owner)
        raise _advised(call, error) from None
    except Exception as error:
        failure = _failure(call, error)
        _record_error(call, failure)
        raise failure from None


def _ask(call: Call, operation: Operation, given: Mapping[str, Any], own: Mapping[str, Any]) -> Ask:
    """What is asked, with the walk that a cursor points into; its first page's arguments then apply."""
    walk, position, arguments = None, None, {**operation.defaults, **own}
    if "cursor" in given:
        walk, position = walks.resume(given["cursor"], operation.name, call.caller.owner, own)
        arguments = dict(walk.arguments)
    hidden = call.caller.tools.hidden
    opens = catalogue.find(operation.record_operation, hidden) if operation.record_operation else None
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
        record_operation=opens.name if opens else None,
        record_arguments=_record_arguments(operation, opens, arguments) if opens else {},
        record_key=operation.record_key,
        record_is_row=operation.record_is_row,
        once=operation.is_called_once,
    )


def _record_arguments(operation: Operation, opens: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What opens a row of this call's list, beside the row's key."""
    shared = {theirs: arguments[ours] for theirs, ours in operation.record_shared.items() if ours in arguments}
    return {**shared, **({"fields": "all"} if opens.kind is Kind.RECORD else {})}


def _hint(call: Call, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The door's way to say "call this", without what is so by default."""
    defaults = operation.defaults
    taken = {name: _as_taken(value, operation.parameters.get(name, {})) for name, value in arguments.items()}
    return call.hints(operation, {name: value for name, value in taken.items() if defaults.get(name) != value})


def _as_taken(value: Any, schema: Mapping[str, Any]) -> Any:
    """A row's key may be a number where the operation that opens it takes a text."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and schema.get("type") == "string" else value


def _advised(call: Call, error: CallError) -> CallError:
    """Of what acts, a new beginning is no way to the rest of an answer."""
    if isinstance(error, InvalidCursor) and _acts(call.operation):
        return replace(error, suggestion="Without cursor it is done once more: call it so only where that is meant.")
    if isinstance(error, InvalidHandle) and _acts(error.made_by):
        again = f"Calling {error.made_by} again does it once more: call it so only where that is meant."
        return replace(error, suggestion=again)
    return error


def _acts(name: str) -> bool:
    operation = catalogue.find(name)
    return operation is not None and operation.kind is Kind.ACTION


def _failure(call: Call, error: Exception) -> CallError:
    if is_away(error):
        logger.warning("database away", extra={"request_id": call.id, "error": type(error).__name__})
        return _advised_of(call, store_unavailable(1))
    logger.exception("call failed", extra={"request_id": call.id, "operation": call.operation})
    if _acts(call.operation):
        said, advice = "it may have been done all the same", "Look whether it was done"
    else:
        said, advice = "nothing was changed", "Try again"
    return InternalError(
        f"Something failed on our side; {said}.",
        reason="internal_error",
        suggestion=f"{advice}. If it stays, tell the operator the request id {call.id}.",
    )


def _advised_of(call: Call, error: StoreUnavailable) -> StoreUnavailable:
    """What acts may have been done before the store was needed."""
    if not _acts(call.operation):
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


def _record(call: Call, operation: Operation, kept: Kept) -> None:
    envelope = kept.envelope
    _note(
        call,
        operation,
        threshold=kept.threshold,
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
