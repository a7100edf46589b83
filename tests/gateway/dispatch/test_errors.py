"""Every error that the dispatcher makes of a failure, in full, for reading calls and for actions."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
import sentencex
from django.db import OperationalError

from context_protection.core.cursors import SnapshotOrigin, invalid_handle
from context_protection.core.errors import CallError, InvalidArgument, invalid_cursor
from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch import errors, hints
from gateway.dispatch.call import Call
from gateway.dispatch.errors import as_call_errors, condensing_failure
from gateway.dispatch.response_cache import response_cache
from gateway.upstreams.errors import UpstreamNotFound
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.offers import in_place

pytestmark = pytest.mark.django_db

NO_ARGUMENTS: Mapping[str, Any] = {}


@pytest.fixture(autouse=True)
def action() -> Iterator[None]:
    """An operation that does something, `send_note`, and one whose answers have no form to choose, `get_note`."""
    notes = {"send_note": (Kind.ACTION, None), "get_note": (Kind.RECORD, ("fields", "cursor"))}
    catalogue.offer(
        [
            Operation(
                name=name,
                title="A note",
                description="A note.",
                kind=kind,
                parameters={},
                fetch=lambda arguments, caller: Record({}),
                endpoint=f"/api/v1/tools/{name}",
                form=form,
            )
            for name, (kind, form) in notes.items()
        ]
    )
    yield
    for name in notes:
        catalogue.withdraw(name)


def error_of(
    operation: str, caller: Caller, failure: Exception, arguments: Mapping[str, Any] = NO_ARGUMENTS
) -> tuple[CallError, Call]:
    call = Call(operation, arguments, caller, Transport.REST, hints.rest)
    with pytest.raises(CallError) as raised, as_call_errors(call):
        raise failure
    return raised.value, call


@pytest.mark.parametrize(
    ("operation", "message", "advice"),
    [
        ("list_bookings", "Something failed on our side; nothing was changed.", "Try again."),
        (
            "send_note",
            "Something failed on our side; the action may have been carried out nevertheless.",
            "Check whether it was carried out.",
        ),
    ],
)
def test_a_fault_of_ours(operation: str, message: str, advice: str, caller: Caller, caplog: pytest.LogCaptureFixture):
    error, call = error_of(operation, caller, RuntimeError("a secret detail"))
    assert error.document()["error"] == {
        "code": -32603,
        "reason": "internal_error",
        "message": message,
        "data": {"suggestion": f"{advice} If the error persists, tell the operator the request id {call.id}."},
    }
    (logged,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert (logged.message, logged.request_id, logged.operation) == ("call failed", call.id, operation)
    assert "a secret detail" in caplog.text


def test_a_panic_of_a_library_in_rust_is_a_fault_of_ours(caller: Caller, caplog: pytest.LogCaptureFixture):
    call = Call("list_bookings", {}, caller, Transport.REST, hints.rest)
    with pytest.raises(CallError) as raised, as_call_errors(call):
        sentencex.segment("en", "E\xa0.")
    assert raised.value.reason == "internal_error"
    assert "PanicException" in caplog.text


def test_what_ends_the_process_is_no_failure_of_the_call(caller: Caller):
    call = Call("list_bookings", {}, caller, Transport.REST, hints.rest)
    with pytest.raises(KeyboardInterrupt), as_call_errors(call):
        raise KeyboardInterrupt


def test_a_failure_of_condensing_has_a_code_of_its_own(caller: Caller):
    call = Call("list_bookings", {}, caller, Transport.REST, hints.rest)
    error = condensing_failure(call, RuntimeError("a secret detail"))
    assert (error.code, error.reason) == (-32002, "internal_error")
    assert "secret" not in str(error.document())
    own = InvalidArgument("wrong")
    assert condensing_failure(call, own) is own


@pytest.mark.parametrize(
    ("operation", "message", "suggestion"),
    [
        (
            "list_bookings",
            "A store that this call needs is temporarily unavailable. No data was lost.",
            "Send the same call again in 1 second, with the same cursor or handle if it has one.",
        ),
        (
            "send_note",
            "A store of this server became unavailable; the action may have been carried out nevertheless.",
            "Check whether it was carried out before you call again.",
        ),
    ],
)
def test_a_database_that_is_away(
    operation: str, message: str, suggestion: str, caller: Caller, caplog: pytest.LogCaptureFixture
):
    error, call = error_of(operation, caller, OperationalError("could not connect"))
    shown = error.document()["error"]
    assert (shown["reason"], shown["message"]) == ("store_unavailable", message)
    assert shown["data"] == {"suggestion": suggestion, "retry_after": 1}
    (logged,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert (logged.message, logged.request_id, logged.error) == (
        "the database is unavailable",
        call.id,
        "OperationalError",
    )


def test_a_call_that_takes_too_long():
    assert errors.too_slow(30).document()["error"] == {
        "code": errors.too_slow(30).code,
        "reason": "timeout",
        "message": "The call was stopped after 30 seconds.",
        "data": {
            "suggestion": "Ask for less at once (where, aggregate, a smaller limit), or try again. Ops can raise "
            "timeoutSeconds in the operation's budget.",
            "retry_after": 5,
        },
    }


def test_an_error_of_the_caller_is_passed_on_and_recorded(caller: Caller):
    given = InvalidArgument("No.", reason="invalid_limit", parameter="limit", value=0)
    error, _ = error_of("list_bookings", caller, given)
    assert error is given
    recorder.flush()
    (recorded,) = TelemetryRecord.objects.values("operation", "transport", "error_reason")
    assert recorded == {"operation": "list_bookings", "transport": "rest", "error_reason": "invalid_limit"}


@pytest.fixture
def renamed_record() -> Iterator[None]:
    with in_place([replace(catalogue.get("get_booking"), former_names=("read_booking",))]):
        yield


@pytest.mark.usefixtures("renamed_record")
@pytest.mark.parametrize("operation", ["get_booking", "read_booking"])
@pytest.mark.parametrize("argument", ["id", "booking_id"])
def test_a_missing_record_names_the_argument_as_given_its_value_and_the_list(
    operation: str, argument: str, caller: Caller
):
    missing = UpstreamNotFound("There is nothing.", reason="upstream_refused", suggestion="Look elsewhere.")
    error, _ = error_of(operation, caller, missing, {argument: 7})
    assert error.document()["error"]["data"] == {
        "parameter": argument,
        "value": 7,
        "suggestion": f"Find the {argument} with list_bookings.",
    }


@pytest.mark.parametrize("operation", ["send_note", "list_bookings"])
def test_an_action_is_never_suggested_again_for_a_cursor(operation: str, caller: Caller):
    error, _ = error_of(operation, caller, invalid_cursor("cursor_invalid", "x", "No."))
    again = "Start again without cursor; use each nextCursor within 10 minutes."
    once_more = "Calling it without cursor repeats the action: do so only if that is intended."
    assert error.suggestion == (once_more if operation == "send_note" else again)
    assert (error.reason, error.value) == ("cursor_invalid", "x")


def test_an_action_is_never_suggested_again_for_a_handle(caller: Caller):
    error, _ = error_of("result_get", caller, invalid_handle("h", SnapshotOrigin("send_note", "key:0", {})))
    assert error.suggestion == "Calling send_note again repeats the action: do so only if that is intended."


@pytest.mark.parametrize(
    ("made_by", "arguments"),
    [
        ("list_bookings", '{"status":"new","format":"handle"}'),
        ("get_booking", '{"status":"new","format":"handle"}'),
        ("read_document", '{"status":"new","format":"handle"}'),
        ("get_note", '{"status":"new"}'),
        ("of_another_version", '{"status":"new"}'),
    ],
)
def test_the_call_that_is_suggested_for_a_handle_gives_one_where_it_can(made_by: str, arguments: str, caller: Caller):
    expired = invalid_handle("h", SnapshotOrigin(made_by, "key:0", {"status": "new"}))
    error, _ = error_of("result_get", caller, expired)
    assert error.suggestion == f"Call {made_by} with {arguments} again; its answer carries a new resultHandle."


@pytest.mark.parametrize(("reason", "is_forgotten"), [("cursor_expired", True), ("cursor_invalid", False)])
def test_responses_with_a_lost_cursor_are_forgotten(
    reason: str, is_forgotten: bool, caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    forgotten: list[Any] = []
    monkeypatch.setattr(response_cache, "forget", forgotten.append)
    error_of("list_bookings", caller, invalid_cursor(reason, "x", "No."))
    assert forgotten == ([caller.owner] if is_forgotten else [])
