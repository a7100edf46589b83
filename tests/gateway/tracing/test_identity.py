"""A client finds its request again: in the response, the log, telemetry and its own traces."""

import json
from collections.abc import Iterator

import httpx2
import pytest

from gateway.tracing.identity import accept, trace_in
from tests.e2e.serving import Serving, serving
from tests.gateway.tracing.stored import a_stored_call
from tests.patience import PATIENCE

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("sluice")) as running:
        yield running


def call(sluice: Serving, **headers: str) -> httpx2.Response:
    headers = {
        "Authorization": f"Bearer {sluice.key}",
        **{name.replace("_", "-"): each for name, each in headers.items()},
    }
    return httpx2.get(f"{sluice.base}/api/v1/listings", headers=headers, trust_env=False, timeout=PATIENCE)


def test_a_sane_request_id_is_repeated_and_recorded(sluice: Serving):
    response = call(sluice, x_request_id="order-17:retry.2", traceparent=PARENT)
    assert response.headers.get_list("x-request-id") == ["order-17:retry.2"]
    stored = a_stored_call(sluice, request_id="order-17:retry.2")
    assert (stored["operation"], stored["trace_id"]) == ("list_listings", TRACE)


def test_over_mcp_too_where_the_trace_of_the_message_wins(sluice: Serving):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    arguments = {"name": "list_documents", "arguments": {}, "_meta": {"traceparent": PARENT.replace(TRACE, "b" * 32)}}
    headers = {
        "Authorization": f"Bearer {sluice.key}",
        "Accept": "application/json, text/event-stream",
        "X-Request-ID": "mcp-request-1",
        "traceparent": PARENT,
    }
    response = httpx2.post(
        f"{sluice.base}/mcp", json={**message, "params": arguments}, headers=headers, trust_env=False, timeout=PATIENCE
    )
    assert "documents" in json.dumps(response.json()) or "items" in json.dumps(response.json())
    assert response.headers["x-request-id"] == "mcp-request-1"
    stored = a_stored_call(sluice, request_id="mcp-request-1")
    assert (stored["door"], stored["trace_id"]) == ("http", "b" * 32)


def test_an_id_that_could_harm_is_replaced(sluice: Serving):
    for odd in ("short", "x" * 65, 'a"b<script>c', "with space inside"):
        given = call(sluice, x_request_id=odd).headers["x-request-id"]
        assert given != odd
        assert len(given) == 32


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/metrics", "/admin/login/"])
def test_every_http_response_has_an_id(sluice: Serving, path: str):
    response = httpx2.get(
        sluice.base + path, headers={"X-Request-ID": "page-view-1"}, trust_env=False, timeout=PATIENCE
    )
    assert response.headers["x-request-id"] == "page-view-1"


def test_what_is_no_trace_is_none():
    assert trace_in(PARENT) == TRACE
    for odd in ("", "00-zz", PARENT.replace(TRACE, "0" * 32), PARENT.upper(), f"ff{PARENT[2:]}", PARENT[:-3]):
        assert trace_in(odd) == ""
    assert accept("\n" * 12) != "\n" * 12
