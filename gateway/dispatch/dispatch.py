"""The dispatcher: every call, whatever its transport, goes through `serve` or `serve_blocking`.

the response cache → the configuration → prepare → fetch → redact → protect → cache, record, audit
"""

import asyncio
import math
import time
from collections.abc import Coroutine, Hashable
from functools import partial
from typing import Any, cast

from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation

from context_protection.configuration.policies import last_policy_for, used_by_call
from context_protection.core.errors import invalid_cursor
from context_protection.core.payloads import Envelope, Payload
from context_protection.core.protect import needs_no_fetch, protect, stored_payload
from context_protection.core.upstream_pages import PagedRows
from context_protection.stores.snapshots import snapshots
from gateway.access import callers, quotas
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Fetch, FetchAsync, Fetched, NativeResult, Operation
from gateway.dispatch import audit, configuration, errors, light_work, measurements, observers
from gateway.dispatch.call import Call
from gateway.dispatch.client import time_limit
from gateway.dispatch.configuration import Configuration, ConfigurationOfCall
from gateway.dispatch.redaction import redacted
from gateway.dispatch.request import PreparedCall, prepare
from gateway.dispatch.response_cache import CACHE_SECONDS, CachedResponse, response_cache
from gateway.threads.bridge import check_wanted, run_sync
from gateway.threads.limits import on_thread
from gateway.tracing import identity, spans
from gateway.upstreams import usage
from telemetry.measurement import OUTSIDE_FIGURES

LONG_ARGUMENTS = 10_000  # characters


async def serve(call: Call) -> Envelope:
    """Answers a call on the event loop. The connection may be long-lived, so the caller's key is checked again.
    Cancelling this coroutine also stops the fetch or query that it waits for. Raises only CallError."""
    quota = _quota(call)
    if quota is None:
        return await _answer(call)
    _refuse_over_quota(call, quota)
    if quotas.are_few_left(call.caller.id, quota):
        await run_sync(quotas.exchange, call.caller.id)
        _refuse_over_quota(call, quota)
    envelope = await _answer(call)
    if quotas.are_few_left(call.caller.id, quota):
        await run_sync(quotas.exchange, call.caller.id)
    return envelope


async def _answer(call: Call) -> Envelope:
    cached = _cached_answer(call)
    if cached is not None:
        return cached
    with identity.named(call.id), usage.one_call(), configuration.one_call() as of_call:
        seconds = last_policy_for(catalogue.current_name(call.operation), call.caller.name).timeout_seconds
        return await _in_time(call, seconds, _serve(call, of_call))


async def _serve(call: Call, of_call: ConfigurationOfCall) -> Envelope:
    current = configuration.in_memory()
    if current is None:
        current = await on_thread(call.limit_key, configuration.current)
    of_call.used = current
    call = call.of_caller(current.confirm(call.caller))
    if _starts_on_the_loop(call, current):
        return await _fetch_and_finish(prepare(call, current))
    prepared, answer = await on_thread(call.limit_key, _start, call, current)
    return answer or await _fetch_and_finish(prepared)


def serve_blocking(call: Call, under: Configuration | None = None, use: usage.UpstreamUse | None = None) -> Envelope:
    """Answers a call on a thread that may block. The key is not checked again, because the caller has just been
    authenticated. `under`: a configuration that staff try out instead of the current one. `use`: collects figures on
    the call's upstream requests. Raises only CallError."""
    quota = _quota(call)
    if quota is None:
        return _answer_blocking(call, under, use)
    _refuse_over_quota(call, quota)
    if quotas.are_few_left(call.caller.id, quota):
        quotas.exchange(call.caller.id)
        _refuse_over_quota(call, quota)
    envelope = _answer_blocking(call, under, use)
    if quotas.are_few_left(call.caller.id, quota):
        quotas.exchange(call.caller.id)
    return envelope


def _answer_blocking(call: Call, under: Configuration | None, use: usage.UpstreamUse | None) -> Envelope:
    cached = _cached_answer(call)
    if cached is not None:
        return cached
    with usage.one_call(use), configuration.one_call() as of_call:
        with errors.as_call_errors(call):
            of_call.used = under or configuration.current()
            prepared, answer = _start(call, of_call.used)
        return answer or async_to_sync(_fetch_and_finish_in_time)(prepared)


def _starts_on_the_loop(call: Call, current: Configuration) -> bool:
    """Whether nothing blocks before the upstream is called. Long arguments are validated on a thread, because
    validating them would block the loop."""
    operation = current.operations.find(call.operation, call.caller.tools.hidden)
    if operation is None or not operation.is_async:
        return False
    return call.key is not None and len(call.key.arguments) <= LONG_ARGUMENTS


async def _in_time(call: Call, seconds: int, answering: Coroutine[Any, Any, Envelope]) -> Envelope:
    """The answer of `answering`, which is stopped after `seconds`. Raises CallError, and CancelledError if the caller
    left."""
    try:
        async with asyncio.timeout(seconds) as limit:
            time_limit.set(limit)
            with errors.as_call_errors(call):
                return await answering
    except TimeoutError:
        error = errors.too_slow(seconds)
        measurements.record_error(call, error)
        raise error from None
    except asyncio.CancelledError:
        measurements.record_cancelled(call)
        raise


async def _fetch_and_finish_in_time(prepared: PreparedCall) -> Envelope:
    return await _in_time(prepared.call, prepared.policy.timeout_seconds, _fetch_and_finish(prepared))


def _start(call: Call, current: Configuration) -> tuple[PreparedCall, Envelope | None]:
    """Prepares a call on a thread, and answers it there from a snapshot or a blocking fetch. An async fetch is left to
    the event loop; the answer is then None."""
    prepared = prepare(call, current)
    operation, request = prepared.operation, prepared.request
    answer = _answer_from_snapshot(prepared)
    if answer is None and not operation.is_async:
        with spans.fetching(operation.name, operation.kind):
            payload = cast(Fetch, operation.fetch)(request.arguments, call.caller)
        answer = _finish(prepared, payload)
    return prepared, answer


def _answer_from_snapshot(prepared: PreparedCall) -> Envelope | None:
    """A later page made from the cursor's snapshot alone; None if data must be fetched. Raises InvalidCursor if the
    operation would have to be called again but must be called only once."""
    operation, request = prepared.operation, prepared.request
    if needs_no_fetch(request.snapshot):
        return _finish(prepared, None)
    if operation.is_async or request.is_called_once:
        stored = stored_payload(request.snapshot, operation.shape, snapshots)
        if stored is not None:
            return _finish(prepared, stored)
    if request.is_called_once and request.snapshot is not None:
        raise invalid_cursor("cursor_expired", prepared.cursor, "The cursor's data has expired.")
    return None


async def _fetch_and_finish(prepared: PreparedCall) -> Envelope:
    """Fetches the data that this call needs from the upstream, and protects it."""
    with used_by_call(prepared.configuration.budgets, prepared.call.caller.name):
        return await _fetch_and_protect(prepared)


async def _fetch_and_protect(prepared: PreparedCall) -> Envelope:
    limit_key = prepared.call.limit_key
    operation = prepared.operation
    with spans.fetching(operation.name, operation.kind):
        result = await cast(FetchAsync, operation.fetch)(prepared.request.arguments, prepared.call.caller)
    fetched = result if isinstance(result, Fetched) else Fetched(result)
    if (cached := _answer_if_unchanged(prepared, fetched)) is not None:
        return cached
    payload, fresh_until, size = fetched.payload, fetched.fresh_until, fetched.size
    if isinstance(payload, PagedRows):
        payload = cast(PagedRows, redacted(payload, prepared.visibility, operation.name))
        await payload.gather(prepared.request, prepared.policy, lambda work: on_thread(limit_key, work), snapshots)
        fresh_until = payload.fresh_until if prepared.request.snapshot is None else 0.0
        size = payload.size
    finish = partial(_finish, prepared, payload, fresh_until, fetched.version)
    if not (light_work.is_small(size) and light_work.is_light(prepared, payload)):
        return await on_thread(limit_key, finish)
    return await light_work.run(operation.name, size, finish, lambda work: on_thread(limit_key, work))


def _finish(
    prepared: PreparedCall,
    payload: Payload | NativeResult | None,
    fresh_until: float = math.inf,
    version: Hashable = None,
) -> Envelope:
    """Protects, caches, records and audits."""
    check_wanted()
    call = prepared.call
    if isinstance(payload, NativeResult):
        envelope = payload.answer(prepared.request, prepared.policy, partial(_protected, prepared))
    else:
        envelope = _protected(prepared, payload)
    check_wanted()
    until = time.monotonic() + min(CACHE_SECONDS, call.caller.seconds_left)
    response = CachedResponse(
        envelope,
        prepared.policy.token_budget_threshold,
        prepared.state,
        until,
        fresh_until,
        version,
        prepared.configuration.revision,
        prepared.arm,
    )
    is_fresh = version is not None or fresh_until > time.monotonic()
    may_be_cached = prepared.policy.caching and is_fresh and envelope.is_complete
    if call.key is not None and prepared.state is not None and may_be_cached:
        response_cache.store(call.key, response)
    _note(call, prepared.operation, response)
    observers.answered(prepared, payload, envelope)
    return envelope


def _protected(prepared: PreparedCall, payload: Payload | None) -> Envelope:
    if payload is not None and (not prepared.operation.is_redacted or prepared.visibility.withheld):
        payload = redacted(payload, prepared.visibility)
    if prepared.call.witness is not None and payload is not None:
        prepared.call.witness(payload)
    try:
        with spans.protecting(prepared.operation.name, prepared.operation.kind) as span:
            envelope = protect(payload, prepared.request, prepared.policy, snapshots)
            spans.describe(span, envelope)
        return envelope
    except SynchronousOnlyOperation:
        raise
    except Exception as error:
        raise errors.condensing_failure(prepared.call, error) from None


def repeated_answer(call: Call) -> Envelope | None:
    """The cached answer of an equal call, for a transport that recognises a repeated request before parsing it. Does
    not block. None if no answer is cached, if it is an error, or if the caller has a quota, which `serve` checks."""
    if _quota(call) is not None:
        return None
    cached = _cached(call)
    return None if cached is None or cached[1].envelope.failure is not None else _sent_again(call, *cached)


def _cached_answer(call: Call) -> Envelope | None:
    """The cached answer of an equal call, if it is still valid. Does not block."""
    cached = _cached(call)
    return None if cached is None else _sent_again(call, *cached)


def _cached(call: Call) -> tuple[Operation, CachedResponse] | None:
    operation = catalogue.find(call.operation)
    if operation is None or call.key is None or call.caller.has_expired:
        return None
    cached = response_cache.find(call.key, operation)
    return None if cached is None else (operation, cached)


def _answer_if_unchanged(prepared: PreparedCall, fetched: Fetched) -> Envelope | None:
    """The cached answer that was made from the same version of the upstream's data, if it is still valid."""
    call = prepared.call
    if call.key is None or prepared.state is None:
        return None
    cached = response_cache.unchanged(call.key, prepared.state, fetched.version, fetched.fresh_until)
    if cached is None:
        return None
    return _sent_again(call, prepared.operation, cached)


def _sent_again(call: Call, operation: Operation, cached: CachedResponse) -> Envelope:
    _note(call, operation, cached, is_cached=True)
    return cached.envelope


def _refuse_over_quota(call: Call, quota: int) -> None:
    """Raises QuotaExceeded. Reads only memory."""
    error = quotas.exceeded(call.caller.name, call.caller.id, quota)
    if error is not None:
        measurements.record_error(call, error)
        raise error


def _note(call: Call, operation: Operation, response: CachedResponse, *, is_cached: bool = False) -> None:
    """Records, audits and counts an answer."""
    envelope = response.envelope
    measurements.record(call, operation, response, is_cached=is_cached)
    audit.consider(call.id, operation.name, envelope)
    if _quota(call) is not None and envelope.failure is None:
        quotas.add(call.caller.id, envelope.claude_tokens)


def _quota(call: Call) -> int | None:
    """The caller's daily quota in tokens. None: the caller has no quota, or staff make the call to inspect its answer,
    which does not count."""
    limit = callers.daily_tokens(call.caller.id)
    return None if limit is None or call.transport in OUTSIDE_FIGURES else limit
