"""/healthz and /readyz answer although all of Django's threads are taken and the database is slow."""

import json
import threading
from typing import Any

import pytest
from django.db import DatabaseError

from gateway import asgi, pages, probes
from gateway.process import bridge

pytestmark = pytest.mark.django_db


async def ask(address: str, method: str = "GET") -> tuple[int, dict[bytes, bytes], Any]:
    sent: list[dict[str, Any]] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await asgi.application({"type": "http", "path": address, "method": method, "headers": []}, receive, send)
    start, body = sent
    return start["status"], dict(start["headers"]), json.loads(body["body"] or b"null")


async def test_the_process_lives():
    status, headers, document = await ask("/healthz")
    assert (status, headers[b"content-type"], document) == (200, b"application/json", {"status": "ok"})


async def test_calls_can_be_answered():
    status, _, document = await ask("/readyz")
    assert status == 200
    assert document["status"] == "ok"
    assert document["database"] is True


async def test_calls_cannot_be_answered_without_the_database(monkeypatch: pytest.MonkeyPatch):
    def broken(self: Any) -> Any:
        raise DatabaseError

    monkeypatch.setattr(type(pages.connection._connections["default"]), "cursor", broken)
    status, _, document = await ask("/readyz")
    assert (status, document["status"], document["database"]) == (503, "down", False)


async def test_a_database_that_does_not_answer_in_time_is_down(monkeypatch: pytest.MonkeyPatch):
    answers = threading.Event()
    monkeypatch.setattr(pages, "readiness", lambda: answers.wait(20))
    monkeypatch.setattr(probes, "READY_SECONDS", 0.05)
    token = bridge.on_callers_thread.set(False)
    try:
        status, _, document = await ask("/readyz")
    finally:
        bridge.on_callers_thread.reset(token)
        answers.set()
    assert (status, document) == (503, {"status": "down", "database": False})


async def test_probes_need_none_of_djangos_threads(monkeypatch: pytest.MonkeyPatch):
    async def stalled(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the request has come to Django")

    monkeypatch.setattr(asgi, "rest_of_http", stalled)
    assert (await ask("/healthz"))[0] == 200
    assert (await ask("/readyz"))[0] == 200


async def test_probes_only_read():
    status, headers, _ = await ask("/healthz", "POST")
    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")
