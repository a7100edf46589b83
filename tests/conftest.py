"""Fixtures for every test: the sample account in the database, and blocking code on the test's own thread."""

import inspect
import os
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.handlers.base import BaseHandler
from django.core.management import call_command
from django.db import connection
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.backends.signals import connection_created
from django.dispatch import receiver
from django.test.client import ClientHandler
from django.test.signals import setting_changed
from hypothesis import settings
from pytest_django.plugin import blocking_manager_key
from servestatic.middleware import ServeStaticMiddleware

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from gateway.access.models import ApiKey
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.celery import app
from gateway.connectors.hostaway.models import Booking
from gateway.connectors.openapi import observed_fields
from gateway.logins.hasher import YieldingHasher
from gateway.pages import background_refresh
from gateway.threads import bridge
from telemetry import arguments, events, recorder, rejections
from tests import caches, postgres, shared, tables
from tests.doors import Doors
from tests.gateway.connectors.tools import invented

# The folders of files that take longest.
LONG = [Path(__file__).parent / name for name in ("e2e", "properties", "worked_examples")]

# The laws over more payloads: make test ARGS="tests/properties --hypothesis-profile=thorough"
settings.register_profile("default", max_examples=25, deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("default")

app.finalize()  # as in a worker: tests call tasks, which start others


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """`-m stores` selects the tests whose result could differ with another database or Redis.

    Files that take minutes run first, so that no worker is left alone with one at the end."""
    for item in items:
        if _has_database(item):
            item.add_marker(pytest.mark.stores)
    yield
    items.sort(key=lambda item: not set(LONG).intersection(item.path.parents))


def _has_database(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker("django_db")) or "db" in getattr(item, "fixturenames", ())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Loads the sample account again after a test that runs outside a transaction, which leaves the database empty. A
    fixture cannot do that: it would run inside the next test's transaction, which is rolled back."""
    yield
    if nextitem is not None and _has_database(item):
        with item.config.stash[blocking_manager_key].unblock():
            if not Booking.objects.exists():
                load_sample_account()


def load_sample_account() -> None:
    """Into an empty database. What a process of this run (SQLite), or this one (Postgres), has loaded is copied."""
    if connection.vendor != "sqlite":
        if not postgres.copy_account():
            call_command("load_sample_data", stdout=StringIO())
            postgres.save_account()
        return
    connection.ensure_connection()
    if tables.with_account.exists():
        tables.copy(tables.with_account, connection.connection)
        return
    call_command("load_sample_data", stdout=StringIO())
    tables.save(connection.connection, tables.with_account)


@receiver(connection_created)
def copy_tables(connection: Any, **_: object) -> None:
    """SQLite's test database has the tables that another process of this run has made; migrations that it does not have
    follow. All of them take 3 s."""
    if connection.vendor != "sqlite" or not connection.is_in_memory_db() or not tables.path.exists():
        return
    if not connection.connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        tables.copy(tables.path, connection.connection)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors, as workers often wait for a server. Two a processor took as long."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Coroutine tests run on the test's thread, where its transaction is (as Django's own TestCase does)."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    async_to_sync(pyfuncitem.obj)(**arguments)
    return True


@pytest.fixture(scope="session", autouse=True)
def static_files_are_looked_for_once() -> Iterator[None]:
    """Each middleware of static files would look for 190 of them again (0.1 s)."""
    found: dict[str, Any] = {}
    look = ServeStaticMiddleware.add_files_from_finders

    def add(self: ServeStaticMiddleware) -> None:
        if not found:
            look(self)
            found.update(self.files)
        self.files.update(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServeStaticMiddleware, "add_files_from_finders", add)
        yield


@pytest.fixture(scope="session", autouse=True)
def middleware_of_test_clients_is_loaded_once() -> Iterator[None]:
    """Each of Django's test clients would load it again (1 ms). What a test sets loads it anew."""
    loaded: list[ClientHandler] = []

    def load(self: ClientHandler, is_async: bool = False) -> None:
        if not loaded:
            BaseHandler.load_middleware(self, is_async)
            loaded.append(self)
        for name in ("_view_middleware", "_template_response_middleware", "_exception_middleware", "_middleware_chain"):
            setattr(self, name, getattr(loaded[0], name))

    def forget(**_: object) -> None:
        loaded.clear()

    setting_changed.connect(forget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientHandler, "load_middleware", load)
        yield
    setting_changed.disconnect(forget)


@pytest.fixture(scope="session", autouse=True)
def rounds_of_a_hash() -> Iterator[int]:
    """Yields the number of rounds that Sluice ships with, a million (0.4 s a login). Tests use one round; a test of
    hashing restores the shipped number."""
    with pytest.MonkeyPatch.context() as patch:
        shipped = YieldingHasher.iterations
        patch.setattr(YieldingHasher, "iterations", 1)
        yield shipped


@pytest.fixture(scope="session")
def turn_to_make_tables() -> Iterator[ExitStack]:
    """The processes of a run begin at the same time: one makes SQLite's tables while the others wait for it. Who has
    the turn ends it by closing this."""
    with ExitStack() as turn:
        if connection.vendor == "sqlite":
            turn.enter_context(shared.one_at_a_time("tables"))
        yield turn


@pytest.fixture(scope="session")
def django_db_setup(turn_to_make_tables: ExitStack, django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with turn_to_make_tables, django_db_blocker.unblock():
        if connection.vendor == "sqlite" and not tables.path.exists():
            tables.save(connection.connection, tables.path)
        load_sample_account()
    yield
    if connection.vendor == "postgresql":  # a thread of a test may still be connected, so the database stays in use
        with django_db_blocker.unblock(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


@pytest.fixture(scope="session", autouse=True)
def postgres_deletes_rows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseOperations, "sql_flush", postgres.deletions)
        yield


@pytest.fixture(autouse=True)
def on_this_thread() -> Iterator[None]:
    token = bridge.on_callers_thread.set(True)
    with (
        recorder.on_callers_thread(),
        rejections.on_callers_thread(),
        arguments.on_callers_thread(),
        events.on_callers_thread(),
    ):
        yield
    bridge.on_callers_thread.reset(token)


@pytest.fixture(autouse=True)
def fresh_configuration() -> None:
    """Configuration of an earlier test, which its rollback removed, is loaded anew."""
    revisions.bump()


@pytest.fixture(autouse=True)
def without_response_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    caches.keep_responses(monkeypatch, most_bytes=0)


@pytest.fixture(autouse=True)
def fresh_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a rollback, operations of another test have the ids of earlier ones, and would learn from their records."""
    monkeypatch.setattr(observed_fields, "_collected", {})


@pytest.fixture(autouse=True)
def fresh_rates() -> None:
    """With the rates of earlier tests, the same answer would have another figure when its rate is learned again."""
    tokens.learned._rates.clear()


@pytest.fixture(autouse=True)
def fresh_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of an earlier moment would lack what the test has just stored."""
    monkeypatch.setattr(background_refresh, "REUSE", 0)


@pytest.fixture
def api_key(db: None) -> str:
    _, secret = ApiKey.objects.issue("tests")
    return secret


@pytest.fixture
def doors(api_key: str) -> Doors:
    """Every transport of this process, as its clients see it."""
    return Doors(api_key)


@pytest.fixture
def large_api() -> Iterator[list[str]]:
    """As many operations as a large imported API has, beside the product's own; their names."""
    new = [each for each in invented.operations() if catalogue.find(each.name) is None]
    catalogue.offer(new)
    yield [each.name for each in new]
    for operation in new:
        catalogue.withdraw(operation.name)


@pytest.fixture
def caller() -> Caller:
    return Caller(id="key:0", name="tests")
