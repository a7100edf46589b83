"""An equal call gets the answer that stands, and never one that does not."""

import dataclasses
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import DatabaseError
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from context_protection.configuration import policies
from context_protection.configuration.revisions import contents, revisions
from context_protection.core.cache_budget import ENTRY_BYTES, CacheBudget
from context_protection.core.errors import NotAuthenticated
from context_protection.core.payloads import Envelope
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Booking
from gateway.dispatch import configuration, hints
from gateway.dispatch import response_cache as module
from gateway.dispatch.call import Call
from gateway.dispatch.configuration import Configuration
from gateway.dispatch.dispatch import serve, serve_blocking
from gateway.dispatch.response_cache import OVERHEAD, CachedResponse, CacheKey, ResponseCache, canonical, response_cache
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.caches import keep_responses

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in production; the tests of everything else have no such memory."""
    keep_responses(monkeypatch)


def body(caller: Caller, operation: str = "list_bookings", door: Any = hints.rest, **arguments: Any) -> bytes:
    return serve_blocking(Call(operation, arguments, caller, "rest", door)).body


def items(caller: Caller, operation: str = "list_bookings") -> list[dict[str, Any]]:
    """Rows of the first page. Two answers of different seconds differ in their times and cursors."""
    found: list[dict[str, Any]] = json.loads(body(caller, operation))["items"]
    return found


def rows(caller: Caller) -> int:
    return len(items(caller))


def test_an_equal_call_costs_no_query_and_is_the_same_bytes(
    caller: Caller, django_assert_num_queries: DjangoAssertNumQueries
):
    first = body(caller, status="confirmed", limit=5)
    with django_assert_num_queries(0):
        assert body(caller, limit=5, status="confirmed") == first


def test_each_call_is_recorded_whoever_answered_it(caller: Caller):
    body(caller, limit=5)
    body(caller, limit=5)
    recorder.flush()
    rows = list(
        TelemetryRecord.objects.values("outcome", "estimated_tokens", "claude_tokens", "threshold", "item_count")
    )
    assert len(rows) == 2
    assert rows[0] == rows[1]


async def test_the_loop_answers_again_without_a_thread(api_key: str, django_assert_num_queries: DjangoAssertNumQueries):
    caller = await sync_to_async(caller_of_key)(api_key)
    call = Call("list_bookings", {}, caller, "websocket", hints.mcp)
    first, second = await serve(call), await serve(dataclasses.replace(call))
    assert second is first


@pytest.mark.parametrize(
    "other",
    [
        {"limit": 6},
        {"limit": 5, "status": "cancelled"},
        {"limit": 5, "door": hints.mcp},
        {"limit": 5, "operation": "list_listings"},
    ],
)
def test_another_call_gets_another_answer(caller: Caller, other: dict[str, Any]):
    assert body(caller, limit=5) != body(caller, **other)


def test_another_key_gets_no_cursor_of_this_one(caller: Caller):
    assert body(caller, limit=5) != body(dataclasses.replace(caller, id="key:9"), limit=5)


def test_a_changed_row_is_seen_by_the_next_call(caller: Caller, django_capture_on_commit_callbacks: Any):
    before = body(caller, limit=1)
    newest = Booking.objects.order_by("-inserted_on", "-id")[0]
    changed = {**json.loads(newest.data), "guestName": "Somebody Else"}
    with django_capture_on_commit_callbacks(execute=True):
        assert list(store.save(BOOKINGS, [changed])) == [1]
    after = body(caller, limit=1)
    assert b"Somebody Else" in after
    assert b"Somebody Else" not in before


def test_an_emptied_account_is_seen_by_the_next_call(caller: Caller, django_capture_on_commit_callbacks: Any):
    body(caller, "list_documents")
    with django_capture_on_commit_callbacks(execute=True):
        store.clear()
    assert b'"items":[]' in body(caller, "list_documents")


def test_a_changed_budget_is_obeyed_by_the_next_call(caller: Caller):
    assert rows(caller) > 3
    TokenBudget.objects.create(operation="list_bookings", default_page_size=3)
    revisions.bump()
    assert rows(caller) == 3


async def test_a_revoked_key_gets_nothing_any_more(api_key: str):
    caller = await sync_to_async(caller_of_key)(api_key)
    call = Call("list_bookings", {}, caller, "websocket", hints.mcp)
    await serve(call)
    await ApiKey.objects.aupdate(revoked_at="2026-01-01T00:00:00Z")
    revisions.bump()
    with pytest.raises(NotAuthenticated):
        await serve(dataclasses.replace(call))


async def test_a_key_that_expires_meanwhile_gets_nothing_any_more(caller: Caller):
    body_ = Envelope(b"{}", "plain", 1, 1, 1)
    operation = catalogue.get("list_bookings")
    expired = dataclasses.replace(caller, expires_at=1.0)
    call = Call("list_bookings", {}, expired, "websocket", hints.mcp)
    state = module.state_of(operation, revisions.current())
    assert call.key is not None
    response_cache.store(call.key, CachedResponse(body_, 4000, state, float("inf")))
    with pytest.raises(NotAuthenticated):
        await serve(call)


async def test_an_answer_is_kept_no_longer_than_its_key(api_key: str):
    """Also where a connection that is open knows nothing of the expiry, which was set later."""
    caller = await sync_to_async(caller_of_key)(api_key)
    await ApiKey.objects.aupdate(expires_at=timezone.now() + timedelta(seconds=30))
    revisions.bump()
    call = Call("list_bookings", {}, caller, "websocket", hints.mcp)
    await serve(call)
    assert call.key is not None
    stored = response_cache.entries.get(call.key)
    assert stored is not None
    assert stored.until <= time.monotonic() + 30


def test_what_changes_while_a_call_begins_is_obeyed_by_the_next(caller: Caller, monkeypatch: pytest.MonkeyPatch):
    """A budget that is set just after a call has taken its policy: its answer is not that of the next."""

    current = configuration.current

    def and_then_changed() -> Configuration:
        taken = current()
        TokenBudget.objects.create(operation="list_bookings", default_page_size=3)
        revisions.bump()
        return taken

    with monkeypatch.context() as patch:
        patch.setattr(configuration, "current", and_then_changed)
        assert rows(caller) > 3
    assert rows(caller) == 3


def test_what_is_made_of_configuration_that_could_not_be_loaded_anew_is_not_kept(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
):
    """The last good one goes on being used while the database is away; when it is back, the new one is obeyed."""

    def away() -> None:
        raise DatabaseError("away")

    before = rows(caller)
    TokenBudget.objects.create(operation="list_bookings", default_page_size=3)
    revisions.bump()
    with monkeypatch.context() as patch:
        patch.setattr(policies._live, "_load", away)
        assert rows(caller) == before > 3
    assert rows(caller) == 3


def test_pages_of_a_walk_are_not_kept(caller: Caller):
    """A cursor that has expired must not be answered."""
    assert Call("list_bookings", {"cursor": "x"}, caller, "rest", hints.rest).key is None


def test_results_of_other_answers_are_not_kept():
    """What a handle opens is looked at anew: it may have expired."""
    for name in ("result_get", "result_search", "result_query"):
        assert catalogue.get(name).version is None


def test_arguments_that_are_no_json_are_not_kept(caller: Caller):
    assert Call("list_bookings", {"name": "\ud800"}, caller, "rest", hints.rest).key is None


# -- The memory itself ------------------------------------------------------------------------------


def entry(size: int, until: float = float("inf")) -> CachedResponse:
    state = module.state_of(catalogue.get("list_bookings"), revisions.current())
    return CachedResponse(Envelope(b"x" * size, "plain", 1, 1, 1), 4000, state, until)


def cache_of(most_bytes: int) -> ResponseCache:
    return ResponseCache(CacheBudget(most_bytes))


def key_of(arguments: str) -> CacheKey:
    return CacheKey("list_bookings", "somebody", None, arguments)


def test_it_holds_so_many_bytes_and_forgets_the_longest_unused():
    operation = catalogue.get("list_bookings")
    memory = cache_of(3 * (1000 + OVERHEAD + ENTRY_BYTES + len("a")))
    for name in ("a", "b", "c"):
        memory.store(key_of(name), entry(1000))
    assert memory.find(key_of("a"), operation) is not None
    memory.store(key_of("d"), entry(1000))
    found = {name for name in "abcd" if memory.find(key_of(name), operation)}
    assert found == {"a", "c", "d"}
    memory.store(key_of("huge"), entry(10_000))
    assert memory.find(key_of("huge"), operation) is None
    assert all(memory.find(key_of(name), operation) for name in found), "nothing had to go for it"
    memory.store(key_of("e"), entry(1000))
    assert memory.find(key_of("e"), operation) is not None


def test_long_arguments_take_room_too(caller: Caller):
    memory = cache_of(10 * OVERHEAD)
    key = Call("list_bookings", {"guestName": "x" * 20 * OVERHEAD}, caller, "rest", hints.rest).key
    assert key is not None
    memory.store(key, entry(10))
    assert memory.find(key, catalogue.get("list_bookings")) is None


def test_the_same_call_again_takes_no_more_room():
    memory = cache_of(3 * (1000 + OVERHEAD + ENTRY_BYTES))
    for _ in range(10):
        memory.store(key_of("a"), entry(1000))
    memory.store(key_of("b"), entry(1000))
    assert memory.find(key_of("a"), catalogue.get("list_bookings")) is not None


@pytest.mark.parametrize("what", [revisions, contents])
def test_what_rests_on_an_earlier_state_is_dropped(what: Any):
    memory = cache_of(1 << 20)
    memory.store(key_of("a"), entry(10))
    what.bump()
    assert memory.find(key_of("a"), catalogue.get("list_bookings")) is None


def test_of_a_call_that_is_new_no_state_is_read():
    """The first one of a process may have to wait for it, and the loop must not."""

    def version() -> int:
        raise AssertionError("it was read")

    operation = dataclasses.replace(catalogue.get("list_bookings"), version=version)
    assert cache_of(1 << 20).find(key_of("a"), operation) is None


def test_what_is_too_old_is_dropped():
    memory = cache_of(1 << 20)
    memory.store(key_of("a"), entry(10, until=0))
    assert memory.find(key_of("a"), catalogue.get("list_bookings")) is None


def test_equal_arguments_are_equal_in_any_order():
    assert canonical({"a": 1, "b": {"c": 2, "d": 3}}) == canonical({"b": {"d": 3, "c": 2}, "a": 1})
    assert canonical({"a": 1}) != canonical({"a": "1"})


def test_an_operation_whose_caching_is_off_is_made_anew_for_each_call(caller: Caller):
    TokenBudget.objects.create(operation="list_bookings", caching=False)
    revisions.bump()
    for operation in ("list_bookings", "list_listings"):
        assert items(caller, operation) == items(caller, operation)
    recorder.flush()
    seen = TelemetryRecord.objects.order_by("pk").values_list("operation", "is_cached")
    assert list(seen) == [
        ("list_bookings", False),
        ("list_bookings", False),
        ("list_listings", False),
        ("list_listings", True),
    ]
