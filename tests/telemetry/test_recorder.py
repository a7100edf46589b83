"""The way from a call's end to the database: it may cost telemetry, and never an answer."""

import os
import threading

import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection

from telemetry import recorder
from telemetry.batch_writer import BatchWriter
from telemetry.models import TelemetryRecord
from telemetry.storage import StoreResult, StoreUnavailableError
from tests.patience import PATIENCE
from tests.telemetry.examples import a_call


class Shelf:
    """A store in memory. It can be away for a number of batches, or hold each batch until it is let go."""

    def __init__(self, *, away: int = 0):
        self.calls = []
        self.batches = []
        self.away = away
        self.open = threading.Event()
        self.open.set()
        self.received = threading.Event()

    def __call__(self, calls):
        self.open.wait(PATIENCE)
        if self.away:
            self.away -= 1
            raise StoreUnavailableError
        self.batches.append(len(calls))
        self.calls += calls
        self.received.set()
        return StoreResult(stored=len(calls))


@pytest.fixture
def started():
    """Makes recorders with a writer thread, and ends them."""
    made = []

    def start(store, **limits):
        made.append(BatchWriter(store, **limits))
        return made[-1]

    yield start
    for each in made:
        each.stop(PATIENCE)


@pytest.mark.django_db
def test_what_was_recorded_is_stored_once_flushed():
    recorder.record(a_call(request_id="a", latency_ms=3.25))
    recorder.record(a_call(request_id="b"))
    assert recorder.state().queued == 2

    assert recorder.flush()

    assert set(TelemetryRecord.objects.values_list("request_id", "latency_ms")) == {("a", 3.25), ("b", 12.5)}
    assert recorder.state().queued == 0
    assert recorder.state().stored == 2


def test_a_full_queue_drops_the_oldest_calls_and_counts_them():
    shelf = Shelf()
    small = BatchWriter(shelf, threaded=False, capacity=3)
    for n in range(5):
        small.put(a_call(request_id=str(n)))
    assert small.state().queued == 3
    assert small.state().dropped == 2
    small.flush()
    assert [call.request_id for call in shelf.calls] == ["2", "3", "4"]
    assert small.state().stored + small.state().dropped == 5


def test_a_batch_that_comes_back_makes_room_for_newer_calls():
    shelf = Shelf(away=1)
    small = BatchWriter(shelf, threaded=False, capacity=3, batch=3)
    for n in range(3):
        small.put(a_call(request_id=str(n)))
    assert not small.flush()
    small.put(a_call(request_id="3"))

    assert small.flush()

    assert [call.request_id for call in shelf.calls] == ["1", "2", "3"]
    assert (small.state().stored, small.state().dropped, small.state().queued) == (3, 1, 0)


def test_a_flush_ends_although_what_it_waits_for_was_dropped(started):
    shelf = Shelf()
    shelf.open.clear()
    small = started(shelf, capacity=2, batch=1, interval=0)
    for n in range(6):
        small.put(a_call(request_id=str(n)))
    shelf.open.set()

    assert small.flush(PATIENCE)

    assert small.state().stored + small.state().dropped == 6


def test_a_writer_that_an_error_ended_is_replaced_by_the_next_call(started, monkeypatch):
    shelf = Shelf()
    writer = started(shelf, interval=0)
    with monkeypatch.context() as broken:
        broken.setattr(threading, "excepthook", lambda args: None)
        broken.setattr(writer, "drain", lambda: 1 / 0)
        writer.put(a_call(request_id="lost to nobody"))
        thread = writer._thread
        if thread is not None:
            thread.join(PATIENCE)
        assert writer._thread is None

    writer.put(a_call(request_id="next"))

    assert writer.flush(PATIENCE)
    assert [call.request_id for call in shelf.calls] == ["lost to nobody", "next"]


def test_recording_raises_nothing_whatever_it_is_given():
    for rubbish in (None, 5, "call", object()):
        recorder.record(rubbish)
    assert recorder.state().queued == 4
    assert recorder.state().lag_seconds == 0.0


def test_recording_raises_nothing_when_no_thread_can_be_started(monkeypatch, started):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    busy = started(Shelf())
    with monkeypatch.context() as full_machine:
        full_machine.setattr(threading.Thread, "start", refuse)
        busy.put(a_call())
    assert busy.state().last_error == "RuntimeError"
    assert busy.flush(PATIENCE)
    assert busy.state().stored == 1


@pytest.mark.django_db
def test_a_row_that_no_database_takes_costs_only_itself(caplog):
    recorder.record(a_call(request_id="before"))
    recorder.record(a_call(request_id="poison", operation="half a pair: \ud83d"))
    recorder.record("not a call")
    recorder.record(a_call(request_id="after"))

    assert recorder.flush()

    assert set(TelemetryRecord.objects.values_list("request_id", flat=True)) == {"before", "after"}
    assert recorder.state().stored == 2
    assert recorder.state().dropped == 2
    assert recorder.state().last_error
    assert "half a pair" not in caplog.text


def test_the_writer_thread_stores_calls_without_being_asked(started):
    shelf = Shelf()
    started(shelf, interval=0.01).put(a_call())
    assert shelf.received.wait(PATIENCE)


def test_a_batch_that_is_full_is_not_kept_waiting(started):
    shelf = Shelf()
    patient = started(shelf, batch=4, interval=3600)
    for _ in range(5):
        patient.put(a_call())
    assert shelf.received.wait(PATIENCE)
    assert patient.flush(PATIENCE)
    assert max(shelf.batches) <= 4
    assert len(shelf.calls) == 5


def test_a_flush_gives_up_when_its_time_is_over(started):
    shelf = Shelf()
    slow = started(shelf)
    shelf.open.clear()
    slow.put(a_call())
    assert not slow.flush(0.01)
    shelf.open.set()
    assert slow.flush(PATIENCE)
    assert len(shelf.calls) == 1


def test_calls_wait_in_order_while_the_database_is_away(started, caplog):
    shelf = Shelf(away=3)
    hopeful = started(shelf, batch=2, interval=0.01)
    for n in range(5):
        hopeful.put(a_call(request_id=str(n)))
    assert hopeful.flush(PATIENCE)
    assert [call.request_id for call in shelf.calls] == ["0", "1", "2", "3", "4"]
    assert hopeful.state().dropped == 0
    assert caplog.messages == ["telemetry cannot be stored", "telemetry is stored again"]


def test_calls_are_given_up_when_the_database_stays_away():
    forgetful = BatchWriter(Shelf(away=1), threaded=False, patience=0)
    forgetful.put(a_call())
    assert forgetful.flush()
    assert forgetful.state().dropped == 1
    assert forgetful.state().queued == 0


@pytest.mark.django_db(transaction=True)
def test_the_writer_thread_recovers_when_the_database_does(started):
    table = TelemetryRecord._meta.db_table
    writer = started(recorder.storage.store)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {table} RENAME TO {table}_away")
    try:
        writer.put(a_call(request_id="during"))
        while not writer.state().last_error:
            assert not writer.flush(0.05)
        assert writer.state().queued
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {table}_away RENAME TO {table}")
    writer.put(a_call(request_id="after"))
    assert writer.flush(PATIENCE)
    assert set(TelemetryRecord.objects.values_list("request_id", flat=True)) == {"during", "after"}


def test_stopping_flushes_and_a_later_call_starts_again(started):
    threads = set(threading.enumerate())
    shelf = Shelf()
    stopped = started(shelf, interval=3600)
    stopped.put(a_call())
    assert stopped.stop(PATIENCE)
    assert len(shelf.calls) == 1
    assert set(threading.enumerate()) <= threads
    stopped.put(a_call())
    assert stopped.stop(PATIENCE)
    assert len(shelf.calls) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons: fork beside threads
def test_a_forked_process_does_not_store_its_parents_calls():
    recorder.record(a_call())
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, b"%d" % recorder.state().queued)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as answer:
        assert answer.read() == "0"
    assert recorder.state().queued == 1


def test_the_lag_is_the_age_of_the_oldest_waiting_call():
    recorder.record(a_call())
    assert recorder.state().lag_seconds >= 0


def test_the_event_loop_is_not_blocked_by_mistake():
    import asyncio

    async def flush_on_the_loop():
        recorder.flush()

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(flush_on_the_loop())
