"""A key that is refused leaves a row, at every door; a call without a key leaves none, and no row holds a key."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from django.test import Client
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from gateway import asgi
from gateway.access.keys import SHOWN_CHARS, hint, new_key
from gateway.access.models import ApiKey
from telemetry import rejections
from telemetry.models import RejectedKey
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db

UNKNOWN_KEY = new_key()
CLIENT = ["192.0.2.9", 40000]


async def over_http(authorization: str, *, path: str, method: str = "GET", body: bytes = b"") -> int:
    fields = {"host": "localhost", "content-length": str(len(body))}
    if authorization:
        fields["authorization"] = authorization
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
        "client": CLIENT,
        "headers": [(name.encode(), value.encode()) for name, value in fields.items()],
    }
    communicator = ApplicationCommunicator(asgi.application, scope)
    await communicator.send_input({"type": "http.request", "body": body})
    start = await communicator.receive_output(20)
    await communicator.receive_output(20)
    await communicator.wait(PATIENCE)
    return int(start["status"])


async def over_websocket(authorization: str) -> int:
    fields = [(b"host", b"localhost"), *([(b"authorization", authorization.encode())] if authorization else [])]
    scope = {
        "type": "websocket",
        "path": "/mcp/ws",
        "client": CLIENT,
        "headers": fields,
        "subprotocols": ["mcp"],
        "extensions": {"websocket.http.response": {}},
    }
    communicator = ApplicationCommunicator(asgi.application, scope)
    await communicator.send_input({"type": "websocket.connect"})
    start = await communicator.receive_output(20)
    await communicator.receive_output(20)
    await communicator.wait(PATIENCE)
    return int(start["status"])


DOORS: dict[str, tuple[str, Any]] = {
    "a REST body": ("rest", partial(over_http, path="/api/v1/tools/list_bookings", method="POST", body=b"{}")),
    "Streamable HTTP": ("http", partial(over_http, path="/mcp", method="POST", body=b"{}")),
    "SSE": ("sse", partial(over_http, path="/mcp/sse")),
    "WebSocket": ("websocket", over_websocket),
    "metrics": ("page", partial(over_http, path="/metrics")),
}


def rows() -> list[Any]:
    rejections.flush()
    return list(RejectedKey.objects.values_list("address", "transport", "attempts", "hint"))


@pytest.mark.parametrize("name", list(DOORS))
def test_a_refused_key_leaves_a_row_at_every_door(name: str):
    door, call = DOORS[name]
    assert async_to_sync(call)(f"Bearer {UNKNOWN_KEY}") == 401
    assert rows() == [("192.0.2.9", door, 1, UNKNOWN_KEY[:SHOWN_CHARS])]


@pytest.mark.parametrize("name", [name for name in DOORS if name != "metrics"])
def test_a_missing_key_is_no_refused_one(name: str):
    for authorization in ("", "Bearer ", "Basic YTpi"):
        assert async_to_sync(DOORS[name][1])(authorization) == 401
    assert rows() == []


@pytest.mark.parametrize(
    ("address", "door"),
    [
        ("/api/v1/bookings", "rest"),
        ("/metrics", "page"),
        ("/api/schema/", "page"),
        ("/api/docs/", "page"),
        ("/health", "page"),
        ("/", "page"),
    ],
)
def test_pages_and_rest_addresses_record_a_refused_key_once(client: Client, address: str, door: str):
    client.get(address)
    assert rows() == []
    response = client.get(address, headers={"Authorization": f"Bearer {UNKNOWN_KEY}"}, REMOTE_ADDR="192.0.2.9")
    assert response.status_code == 401
    assert rows() == [("192.0.2.9", door, 1, UNKNOWN_KEY[:SHOWN_CHARS])]


def test_revoked_and_expired_keys_are_refused_ones_and_good_keys_are_not(client: Client, api_key: str):
    _, expired = ApiKey.objects.issue("expired", expires_at=timezone.now() - timedelta(seconds=1))
    revoked_key, revoked = ApiKey.objects.issue("revoked")
    revoked_key.revoke()
    revisions.bump()
    for key in (expired, revoked, api_key):
        client.get("/api/v1/bookings", {"limit": 1}, headers={"Authorization": f"Bearer {key}"})
    assert [(attempts, shown) for _, _, attempts, shown in rows()] == [(2, revoked_key.prefix)]


def test_only_the_beginning_of_what_has_the_form_of_a_key_is_kept():
    key = new_key()
    assert hint(key) == key[:10]
    for secret in ("slc_short", "hunter2", f"sk-{key}", f"{key}x", key[:-1], f"{key[:20]} {key[21:]}", ""):
        assert hint(secret) == ""


def test_staff_look_at_them_and_change_nothing(client: Client, admin_client: Client):
    client.get("/api/v1/bookings", headers={"Authorization": f"Bearer {UNKNOWN_KEY}"}, REMOTE_ADDR="192.0.2.9")
    rejections.flush()
    listing = "/admin/telemetry/rejectedkey/"
    row = RejectedKey.objects.get()
    for query, is_there in (
        ({}, True),
        ({"door": "rest"}, True),
        ({"door": "sse"}, False),
        ({"range": "1h"}, True),
        ({"q": "192.0.2."}, True),
        ({"q": UNKNOWN_KEY[:8]}, True),
        ({"q": "198.51."}, False),
    ):
        page = admin_client.get(listing, query).content.decode()
        assert (f"{listing}{row.pk}/change/" in page) == is_there, query
    page = admin_client.get(f"{listing}{row.pk}/change/").content.decode()
    assert "192.0.2.9" in page
    assert UNKNOWN_KEY[:SHOWN_CHARS] in page
    assert UNKNOWN_KEY[:20] not in page
    assert 'name="_save"' not in page
    assert admin_client.post(f"{listing}{row.pk}/delete/").status_code == 403
    assert admin_client.get(f"{listing}add/").status_code == 403
