"""What watches a process is answered although all of Django's threads are taken and the database is away."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError, connection

from gateway import asgi
from gateway.access.callers import identify
from gateway.access.visits import Visit
from gateway.pages import probes
from gateway.process import database_reach, readiness
from gateway.process.postgres.deadline import ConnectionWithDeadline
from gateway.process.readiness import Readiness

pytestmark = pytest.mark.django_db


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Readiness]:
    """A look on the test's own thread, where its database is."""
    looked = Readiness()
    monkeypatch.setattr(probes, "readiness", looked)
    looked.look()
    yield looked
    looked.close()
    database_reach.database.is_away = False


async def ask(address: str, method: str = "GET") -> tuple[int, dict[bytes, bytes], Any]:
    status, headers, body = await answered(address, method)
    return status, headers, json.loads(body or b"null")


async def answered(address: str, method: str = "GET", **headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    fields = [(name.encode(), value.encode()) for name, value in headers.items()]
    await asgi.application({"type": "http", "path": address, "method": method, "headers": fields}, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"]


async def test_the_process_lives():
    status, headers, document = await ask("/healthz")
    assert (status, headers[b"content-type"], document) == (200, b"application/json", {"status": "ok"})


async def test_calls_can_be_answered(looked: Readiness):
    status, _, document = await ask("/readyz")
    assert status == 200
    assert document["status"] == "ok"
    assert document["database"] is True


async def test_calls_cannot_be_answered_without_the_database(monkeypatch: pytest.MonkeyPatch, looked: Readiness):
    def broken(*_: Any) -> Any:
        raise DatabaseError

    monkeypatch.setattr(type(connection._connections["default"]), "cursor", broken)
    monkeypatch.setattr(ConnectionWithDeadline, "execute", broken)
    looked.look()
    status, _, document = await ask("/readyz")
    assert (status, document["status"], document["database"]) == (503, "down", False)


async def test_what_was_seen_long_ago_counts_for_nothing(monkeypatch: pytest.MonkeyPatch, looked: Readiness):
    monkeypatch.setattr(readiness, "OLD_SECONDS", -1.0)
    status, _, document = await ask("/readyz")
    assert (status, document["status"], document["database"]) == (503, "down", True)


async def test_probes_need_none_of_djangos_threads(monkeypatch: pytest.MonkeyPatch, looked: Readiness):
    async def stalled(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the request has come to Django")

    monkeypatch.setattr(asgi, "rest_of_http", stalled)
    assert (await ask("/healthz"))[0] == 200
    assert (await ask("/readyz"))[0] == 200


async def test_probes_only_read():
    status, headers, _ = await ask("/healthz", "POST")
    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")


# -- Metrics ----------------------------------------------------------------------------------------

BY_ADDRESS = "172.20.0.5:8000"  # as Prometheus calls a container that it has found by DNS


@pytest.fixture
def no_django(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Instead of Django, notes what comes to it."""
    came: list[str] = []

    async def otherwise(scope: Any, receive: Any, send: Any) -> None:
        came.append(scope["path"])
        await send({"type": "http.response.start", "status": 299, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    monkeypatch.setitem(asgi.HTTP, "/metrics", probes.metrics(otherwise))
    return came


async def test_a_scraper_with_a_key_is_answered_under_any_host_and_without_django(no_django: list[str], api_key: str):
    await identify(f"Bearer {api_key}", Visit("page", "127.0.0.1"))  # loads the keys on this thread
    status, headers, body = await answered("/metrics", host=BY_ADDRESS, authorization=f"Bearer {api_key}")
    assert status == 200
    assert headers[b"content-type"].startswith(b"text/plain")
    assert b"sluice_telemetry_queued" in body
    assert no_django == []


async def test_a_scraper_with_a_wrong_key_is_refused(no_django: list[str]):
    status, headers, body = await answered("/metrics", host=BY_ADDRESS, authorization="Bearer nobodys")
    assert (status, headers[b"www-authenticate"]) == (401, b'Bearer realm="sluice"')
    assert json.loads(body)["error"]["reason"] == "not_authenticated"
    assert no_django == []


async def test_public_metrics_need_no_key(no_django: list[str], settings: Any):
    settings.PUBLIC_PAGES = True
    assert (await answered("/metrics", host=BY_ADDRESS))[0] == 200
    assert (await answered("/metrics", host=BY_ADDRESS, authorization="Bearer nobodys"))[0] == 200
    assert no_django == []


async def test_all_others_who_ask_for_metrics_are_djangos(no_django: list[str], api_key: str):
    """It knows the sessions of staff, and tells those unknown how to come in."""
    await answered("/metrics", host="localhost")
    await answered("/metrics", host="localhost", authorization="Basic YTpi")
    await answered("/metrics", "POST", host="localhost", authorization=f"Bearer {api_key}")
    assert no_django == ["/metrics"] * 3
