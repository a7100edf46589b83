"""Small answers are protected on the event loop, and no answer holds it up: not an operation's first ones, none that
takes long, none that needs a store."""

import asyncio
import gc
import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings as configured
from django.core.exceptions import SynchronousOnlyOperation

from context_protection.configuration.revisions import revisions
from context_protection.core.withheld_fields import seen
from context_protection.stores.snapshots import write_behind
from gateway.catalog.caller import ToolChoice
from gateway.connectors.openapi.importer import import_plan
from gateway.dispatch import configuration, dispatch, light_work, redaction
from gateway.dispatch.light_work import FIRST_PAUSE, LONGEST_PAUSE, PAUSES, Pace
from gateway.mcp import tools
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from tests.doors import Doors
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.skipif(bool(configured.REDIS_URL), reason="snapshots are written at once, on threads")

LIST, RECORD = ("shop_list_all", {}), ("shop_get_customer", {"id": "large"})
PAGED = ("shop_list_by_offset", {"limit": 20})
NEVER = 1e6  # seconds until snapshots are written
ALWAYS_QUICK = 1e6  # seconds; a busy machine can make any answer slow
LOOP, THREAD = "loop", "thread"
SLOW, SIZE = 0.024, 1000  # seconds, bytes; PAUSES times SLOW is less than FIRST_PAUSE


@pytest.fixture
def api(db: None, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    monkeypatch.setattr(write_behind, "_batch_seconds", NEVER)
    monkeypatch.setattr(light_work, "pace", Pace())
    monkeypatch.setattr(light_work, "QUICK_SECONDS", ALWAYS_QUICK)
    with shop() as simulated, write_behind:
        plan = import_plan.plan(json.dumps(simulated.document).encode(), name="shop", source="shop.json")
        import_plan.store(plan, chosen=[each.key for each in plan.proposals])
        UpstreamApi.objects.update(keep_seconds=0)
        revisions.bump()
        yield simulated
    retain(())


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where answers were protected, in their order."""
    seen: list[str] = []
    protect = dispatch.protect

    def protect_and_note(*given: Any) -> Any:
        seen.append(LOOP if asyncio._get_running_loop() else THREAD)
        return protect(*given)

    monkeypatch.setattr(dispatch, "protect", protect_and_note)
    return seen


def content(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer without what differs whenever an upstream's pages are read again."""
    meta = {name: value for name, value in answer["meta"].items() if name not in ("resultHandle", "snapshotAt")}
    return {**answer, "meta": meta, "nextCursor": ""} if "nextCursor" in answer else answer


def test_the_loop_protects_what_a_thread_has_protected_quickly(doors: Doors, api: Shop, places: list[str]):
    for tool, arguments in (LIST, PAGED, RECORD):
        answers = [doors.mcp(tool, arguments) for _ in range(4)]
        assert places[-2:] == [LOOP, LOOP]
        assert content(answers[-1]) == content(answers[-2])
    assert places[0] == THREAD


def test_both_places_give_the_same_answer(doors: Doors, api: Shop, places: list[str], monkeypatch: pytest.MonkeyPatch):
    for tool, arguments in (LIST, PAGED, RECORD):
        for _ in range(3):
            on_loop = doors.mcp(tool, arguments)
        with monkeypatch.context() as patch:
            patch.setattr(light_work, "MAX_BYTES", 0)
            on_thread = doors.mcp(tool, arguments)
        assert places[-2:] == [LOOP, THREAD]
        assert content(on_loop) == content(on_thread)


def test_small_pages_of_a_list_are_redacted_on_the_loop(doors: Doors, api: Shop, monkeypatch: pytest.MonkeyPatch):
    places: list[str] = []

    def seen_and_noted(rows: list[Any], *given: Any) -> list[Any]:
        places.append(LOOP if asyncio._get_running_loop() else THREAD)
        return seen(rows, *given)

    monkeypatch.setattr(redaction, "seen", seen_and_noted)
    for _ in range(3):
        doors.mcp(*PAGED)
    assert places[0] == THREAD
    assert places[-1] == LOOP
    monkeypatch.setattr(light_work, "MAX_BYTES", 0)
    doors.mcp(*PAGED)
    assert places[-1] == THREAD


def test_later_pages_of_a_list_that_the_upstream_pages_stay_on_threads(doors: Doors, api: Shop, places: list[str]):
    for _ in range(3):
        first = doors.mcp(*PAGED)
    doors.mcp(PAGED[0], {"cursor": first["nextCursor"]})
    assert places[-2:] == [LOOP, THREAD]


@pytest.mark.parametrize(
    "arguments", [{"fields": "all"}, {"where": {"id": 1}}, {"format": "table"}, {"format": "handle"}, {"pages": "1-2"}]
)
def test_what_is_asked_for_beyond_the_default_stays_on_threads(
    doors: Doors, api: Shop, places: list[str], arguments: dict[str, Any]
):
    for _ in range(3):
        doors.mcp(*LIST)
    assert "error" not in doors.mcp(LIST[0], arguments)
    assert places[-1] == THREAD


def test_a_configuration_that_changes_meanwhile_is_loaded_on_a_thread(
    doors: Doors, api: Shop, places: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    for _ in range(3):
        doors.mcp(*LIST)
    protect = dispatch.protect

    def change_and_protect(*given: Any) -> Any:
        revisions.bump()
        return protect(*given)

    monkeypatch.setattr(dispatch, "protect", change_and_protect)
    assert "error" not in doors.mcp(*LIST)
    assert places[-3:] == [LOOP, LOOP, THREAD], "what the loop cannot finish, a thread does"
    assert "could not be read" not in caplog.text


def test_tools_are_not_listed_on_the_loop(db: None):
    listings = tools.ToolLists(configuration.current())

    async def on_the_loop() -> None:
        listings.of(ToolChoice())

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(on_the_loop())


def test_while_snapshots_cannot_be_written_behind_threads_protect(doors: Doors, api: Shop, places: list[str]):
    for _ in range(3):
        doors.mcp(*LIST)
    write_behind.__exit__()
    doors.mcp(*LIST)
    assert places[-2:] == [LOOP, THREAD]


def test_after_a_slow_answer_threads_protect_for_a_while(monkeypatch: pytest.MonkeyPatch):
    now, spent = 1000.0, 0.0
    monkeypatch.setattr(light_work.time, "thread_time", lambda: spent)
    pace = Pace(lambda: now)

    def work(seconds: float) -> str:
        nonlocal spent
        spent += seconds
        return "done"

    pace.on_thread("list", SIZE, lambda: work(SLOW))
    assert not pace.is_quick("list", SIZE), "its first answer loads much, and says nothing about the next"
    assert pace.on_thread("list", SIZE, lambda: work(0.001)) == "done"
    pace.on_thread("list", SIZE, lambda: work(SLOW))
    assert pace.on_loop("list", lambda: work(0.001)) == "done"
    assert pace.is_quick("list", SIZE)
    pace.on_loop("list", lambda: work(SLOW))
    pace.on_thread("list", SIZE, lambda: work(0.001))
    assert not pace.is_quick("list", SIZE)
    assert not pace.is_quick("another", SIZE)
    now += FIRST_PAUSE
    assert pace.is_quick("list", SIZE)
    for seconds in (1, 10):
        pace.on_loop("list", lambda taken=seconds: work(taken))
        now += 0.9 * PAUSES * seconds
        assert not pace.is_quick("list", SIZE), "a pause is longer after an answer that took very long"
        now += 0.2 * PAUSES * seconds
        assert pace.is_quick("list", SIZE)


def test_a_quick_answer_says_nothing_about_larger_ones():
    now = 1000.0
    pace = Pace(lambda: now)
    for size in (SIZE, 4 * SIZE):
        assert not pace.is_quick("list", size)
        pace.on_thread("list", size, lambda: None)
        assert pace.is_quick("list", size)
    pace._pause("list", SLOW)
    assert not pace.is_quick("list", SIZE), "a slow answer of any size counts"


def test_pauses_grow_while_answers_stay_slow(monkeypatch: pytest.MonkeyPatch):
    now, spent = 0.0, 0.0
    monkeypatch.setattr(light_work.time, "thread_time", lambda: spent)
    pace = Pace(lambda: now)

    def slow() -> None:
        nonlocal spent
        spent += SLOW

    def pause() -> float:
        """The length of the pause that begins now, to a second."""
        nonlocal now
        began = now
        while not pace.is_quick("list", SIZE):
            now += 0.1
        return round(now - began)

    pace.on_thread("list", SIZE, lambda: None)
    pauses = []
    for _ in range(8):
        pace.on_loop("list", slow)
        pauses.append(pause())
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    now += LONGEST_PAUSE + 1
    pace.on_loop("list", slow)
    assert pause() == FIRST_PAUSE, "an operation that was quick for long begins anew"


def test_the_time_of_the_garbage_collector_does_not_count(monkeypatch: pytest.MonkeyPatch):
    spent = 0.0
    monkeypatch.setattr(light_work.time, "thread_time", lambda: spent)

    def take_long(phase: str, info: dict[str, int]) -> None:
        nonlocal spent
        spent += 0.1 if phase == "start" else 0.0

    pace = Pace()
    pace.on_thread("list", SIZE, lambda: None)
    gc.callbacks.append(take_long)
    try:
        pace.on_loop("list", gc.collect)
    finally:
        gc.callbacks.remove(take_long)
    assert spent == 0.1
    assert pace.is_quick("list", SIZE)


def test_the_time_of_the_garbage_collector_on_another_thread_hides_no_slow_work(monkeypatch: pytest.MonkeyPatch):
    spent: dict[int, float] = defaultdict(float)  # by thread
    monkeypatch.setattr(light_work.time, "thread_time", lambda: spent[threading.get_ident()])

    def take_long(phase: str, info: dict[str, int]) -> None:
        spent[threading.get_ident()] += 0.1 if phase == "start" else 0.0

    def slow() -> None:
        spent[threading.get_ident()] += SLOW
        other = threading.Thread(target=gc.collect)
        other.start()
        other.join()

    pace = Pace()
    gc.callbacks.append(take_long)
    try:
        pace.on_thread("list", SIZE, slow)
    finally:
        gc.callbacks.remove(take_long)
    assert not pace.is_quick("list", SIZE)
