"""Turns the failures of calls into errors that say what to do next, and records them."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from context_protection.core.cursors import again_for_handle
from context_protection.core.errors import (
    CallError,
    CondensingFailed,
    InternalError,
    InvalidCursor,
    InvalidHandle,
    StoreUnavailable,
    TooSlow,
    store_unavailable,
)
from context_protection.core.handles import HANDLE
from context_protection.core.policy import Kind
from context_protection.stores.database_errors import means_unavailable
from gateway.catalog.catalog import catalogue
from gateway.catalog.normalization import given_names
from gateway.dispatch.call import Call
from gateway.dispatch.measurements import record_error
from gateway.dispatch.response_cache import response_cache
from gateway.upstreams.errors import UpstreamNotFound

LOST = ("cursor_expired", "handle_expired")
logger = logging.getLogger(__name__)


@contextmanager
def as_call_errors(call: Call) -> Iterator[None]:
    """Turns every failure into a CallError, and records it."""
    try:
        yield
    except CallError as error:
        advised = _with_format_of_handles(_with_advice_for_actions(call, error))
        advised = _with_names_as_given(call, _with_list_to_look_in(call, advised))
        record_error(call, advised)
        if error.reason in LOST:  # otherwise a new first call would get the same lost cursor from the cache
            response_cache.forget(call.caller.owner)
        raise advised from None
    except BaseException as error:
        if not isinstance(error, Exception) and not _is_panic(error):
            raise  # the call is cancelled, or the process ends
        failure = _failure(call, error)
        record_error(call, failure)
        raise failure from None


def condensing_failure(call: Call, error: Exception) -> CallError:
    """The error for an unexpected failure of protection."""
    return error if isinstance(error, CallError) else _failure(call, error, CondensingFailed)


def too_slow(seconds: int) -> TooSlow:
    return TooSlow(
        f"The call was stopped after {seconds} seconds.",
        reason="timeout",
        suggestion="Ask for less at once (where, aggregate, a smaller limit), or try again. Ops can raise "
        "timeoutSeconds in the operation's budget.",
        retry_after=5,
    )


def _with_advice_for_actions(call: Call, error: CallError) -> CallError:
    """Replaces the advice for actions, which must not be called again just to get the rest of an answer."""
    if isinstance(error, InvalidCursor) and _is_action(call.operation):
        repeats = "Calling it without cursor repeats the action: do so only if that is intended."
        return replace(error, suggestion=repeats)
    if isinstance(error, InvalidHandle) and _is_action(error.made_by):
        repeats = f"Calling {error.made_by} again repeats the action: do so only if that is intended."
        return replace(error, suggestion=repeats)
    return error


def _with_format_of_handles(error: CallError) -> CallError:
    """Suggests the call that gives a new handle, however small its result is."""
    operation = catalogue.find(error.made_by) if isinstance(error, InvalidHandle) else None
    if operation is None or operation.kind is Kind.ACTION or not operation.takes_format:
        return error
    return replace(error, suggestion=again_for_handle(error.made_by, {**error.made_with, "format": HANDLE}))


def _with_list_to_look_in(call: Call, error: CallError) -> CallError:
    """Suggests the list whose rows the tool opens, if the upstream does not have the record."""
    operation = catalogue.find(call.operation)
    if operation is None or not isinstance(error, UpstreamNotFound):
        return error
    lists = (each for each in catalogue if each.record_operation == operation.name)
    found = next((each for each in lists if each.name not in call.caller.tools.hidden), None)
    if found is None:
        return error
    argument = found.record_key[0]
    return replace(
        error,
        parameter=argument,
        value=call.arguments.get(given_names(operation, call.arguments).get(argument, argument)),
        suggestion=f"Find the {argument} with {found.name}.",
    )


def _with_names_as_given(call: Call, error: CallError) -> CallError:
    """Names the argument as the caller did, so that the suggestion corrects what was sent: order_by, not order."""
    operation = catalogue.find(call.operation)
    name, dot, below = error.parameter.partition(".")
    given = given_names(operation, call.arguments).get(name) if operation and name else None
    if given is None:
        return error
    advice = re.compile(rf"\b(Set|Leave|Rename|Find the|without) {re.escape(name)}\b")
    return replace(
        error,
        parameter=f"{given}{dot}{below}",
        message=re.sub(rf"^{re.escape(name)}(?=[ .])", lambda _: given, error.message),
        suggestion=advice.sub(lambda found: f"{found[1]} {given}", error.suggestion),
    )


def _is_action(name: str) -> bool:
    operation = catalogue.find(name)
    return operation is not None and operation.kind is Kind.ACTION


def _is_panic(error: BaseException) -> bool:
    """Whether a library written in Rust panicked. Each such library raises a class of its own with this name, which
    does not derive from Exception."""
    return type(error).__name__ == "PanicException"


def _failure(call: Call, error: BaseException, kind: type[InternalError] = InternalError) -> CallError:
    if means_unavailable(error):
        logger.warning("the database is unavailable", extra={"request_id": call.id, "error": type(error).__name__})
        return _store_error_for(call, store_unavailable(1))
    logger.exception("call failed", extra={"request_id": call.id, "operation": call.operation})
    if _is_action(call.operation):
        effect, advice = "the action may have been carried out nevertheless", "Check whether it was carried out"
    else:
        effect, advice = "nothing was changed", "Try again"
    return kind(
        f"Something failed on our side; {effect}.",
        reason="internal_error",
        suggestion=f"{advice}. If the error persists, tell the operator the request id {call.id}.",
    )


def _store_error_for(call: Call, error: StoreUnavailable) -> StoreUnavailable:
    """The error for an unavailable store. For an action, it says that the action may have been carried out."""
    if not _is_action(call.operation):
        return error
    message = "A store of this server became unavailable; the action may have been carried out nevertheless."
    return replace(error, message=message, suggestion="Check whether it was carried out before you call again.")
