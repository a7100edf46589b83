"""OpenTelemetry: a real collector gets the spans and durations of real calls, in the client's own trace."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest

from gateway.simulation.clients import SimulatedClient, over_websocket
from gateway.tracing import names
from telemetry.counters import LATENCY_BUCKETS
from tests.e2e.serving import ROOT, Serving, serving
from tests.gateway.tracing.stored import a_stored_call
from tests.patience import PATIENCE
from tests.simulators.otlp import Collector, Span, attributes_of, collector

SERVER = 2  # the kind of a span
TRACE, PARENT_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{PARENT_ID}-01"
OTHER_TRACE, OTHER_ID = "c" * 32, "d" * 16
UNKNOWN = "no-such-tool"
SECRET = "canary-8f3a-guest-name"


@pytest.fixture(scope="module")
def received() -> Iterator[Collector]:
    with collector() as running:
        yield running


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory, received: Collector) -> Iterator[Serving]:
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": received.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",  # milliseconds
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
    }
    with serving(tmp_path_factory.mktemp("sluice"), **variables) as running:
        yield running


def over_mcp(sluice: Serving, tool: str, arguments: dict[str, Any], *, meta: str = "", header: str = "") -> Any:
    message = {"name": tool, "arguments": arguments, **({"_meta": {"traceparent": meta}} if meta else {})}
    headers = {
        "Authorization": f"Bearer {sluice.key}",
        "Accept": "application/json, text/event-stream",
        **({"traceparent": header} if header else {}),
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": message}
    return httpx2.post(f"{sluice.base}/mcp", json=body, headers=headers, trust_env=False, timeout=PATIENCE).json()


def children(received: Collector, parent: Span, name: str) -> Span:
    return received.until(
        lambda: next((each for each in received.spans if each.name == name and each.parent == parent.id), None),
        f"no {name} under {parent.name}",
    )


def test_a_call_is_a_span_of_the_clients_trace_with_fetch_and_protect_below(sluice: Serving, received: Collector):
    over_mcp(sluice, "list_bookings", {"limit": 7}, meta=PARENT)
    span = received.span("tools/call list_bookings", **{names.TOOL: "list_bookings"})
    assert (span.trace, span.parent, span.kind) == (TRACE, PARENT_ID, SERVER)
    assert span.attributes[names.OPERATION_NAME] == names.EXECUTE_TOOL
    assert (span.attributes[names.NETWORK_TRANSPORT], span.attributes[names.NETWORK_PROTOCOL]) == ("tcp", "http")
    fetch, protect = children(received, span, names.FETCH), children(received, span, names.PROTECT)
    assert fetch.attributes == {names.TOOL: "list_bookings", names.CONNECTOR_KIND: "list"}
    assert protect.attributes[names.OUTCOME] == "paginated"
    assert 0 < protect.attributes[names.RESULT_TOKENS] < protect.attributes[names.ORIGINAL_TOKENS]


def test_telemetry_has_the_trace_of_the_call(sluice: Serving, received: Collector):
    over_mcp(sluice, "get_booking", {"id": 43000001})
    span = received.span("tools/call get_booking")
    stored = a_stored_call(sluice, operation="get_booking", door="http")
    assert (stored["trace_id"], stored["request_id"]) == (span.trace, span.attributes[names.REQUEST_ID])


def test_the_trace_of_the_http_header_is_the_parent_or_else_linked(sluice: Serving, received: Collector):
    over_mcp(sluice, "list_listings", {}, header=PARENT)
    assert received.span("tools/call list_listings").parent == PARENT_ID
    over_mcp(sluice, "list_documents", {}, meta=f"00-{OTHER_TRACE}-{OTHER_ID}-01", header=PARENT)
    span = received.span("tools/call list_documents")
    assert (span.trace, span.parent, span.links) == (OTHER_TRACE, OTHER_ID, (PARENT_ID,))


def test_a_rest_request_has_a_span_of_its_own(sluice: Serving, received: Collector):
    headers = {"Authorization": f"Bearer {sluice.key}", "traceparent": PARENT}
    httpx2.get(f"{sluice.base}/api/v1/bookings/43000002", headers=headers, trust_env=False, timeout=PATIENCE)
    span = received.until(
        lambda: next((each for each in received.spans if each.name.startswith("GET /api/v1/bookings/")), None),
        "no span of the REST request",
    )
    assert (span.trace, span.parent, span.kind) == (TRACE, PARENT_ID, SERVER)
    assert (span.attributes[names.HTTP_STATUS], span.attributes[names.TOOL]) == (200, "get_booking")
    assert "43000002" not in span.name
    children(received, span, names.PROTECT)


def test_a_websocket_has_a_session_and_its_errors_are_tool_errors(sluice: Serving, received: Collector):
    async def talk() -> None:
        client = SimulatedClient("trace-tester", "1", over_websocket, mode="legacy")
        async with client.connect(client, sluice.base, sluice.key) as send:
            await send("read_document", {"id": "missing"})
            await send("read_document", {"id": SECRET})

    anyio.run(talk)
    span = received.span("tools/call read_document", **{names.NETWORK_PROTOCOL: "websocket"})
    assert span.attributes[names.SESSION_ID] == received.span("tools/list").attributes[names.SESSION_ID]
    assert (span.is_error, span.attributes[names.ERROR_TYPE]) == (True, names.TOOL_ERROR)


def test_a_session_of_the_newest_revision_names_no_session(sluice: Serving, received: Collector):
    async def talk() -> None:
        client = SimulatedClient("trace-tester", "1", over_websocket)
        async with client.connect(client, sluice.base, sluice.key) as send:
            await send("list_transactions", {})

    anyio.run(talk)
    span = received.span("tools/call list_transactions")
    assert span.attributes["mcp.protocol.version"] >= names.FIRST_WITHOUT_SESSIONS
    assert names.SESSION_ID not in span.attributes


def test_durations_are_a_histogram_whose_labels_clients_cannot_choose(sluice: Serving, received: Collector):
    over_mcp(sluice, UNKNOWN, {})
    over_mcp(sluice, "result_search", {})

    def points() -> dict[str, Any]:
        found = received.points.get(names.OPERATION_DURATION, [])
        labels = [(attributes_of(point.attributes), point) for point in found]
        tools = {each[names.TOOL]: (each, point) for each, point in labels if names.TOOL in each}
        return tools if {names.OTHER, "result_search"} <= tools.keys() else {}

    tools = received.until(points, "no duration of both calls")
    assert UNKNOWN not in tools
    labels, point = tools["result_search"]
    assert tuple(point.explicit_bounds) == LATENCY_BUCKETS
    assert point.count >= 1
    assert labels[names.METHOD] == "tools/call"
    assert labels[names.ERROR_TYPE] == names.TOOL_ERROR


def test_neither_arguments_nor_contents_nor_keys_leave(sluice: Serving, received: Collector):
    over_mcp(sluice, "list_bookings", {"guestName": SECRET, "minTotalPrice": 4711.25})
    over_mcp(sluice, "read_document", {"id": SECRET}, meta=f"00-{OTHER_TRACE}-{'e' * 16}-01")
    received.until(lambda: any(each.parent == "e" * 16 for each in received.spans), "the call has not arrived")
    sent = b"".join(received.bodies)
    assert SECRET.encode() not in sent
    assert sluice.key.encode() not in sent
    assert {each["service.name"] for each in received.resources} == {"sluice"}


def test_no_exporter_is_imported_while_it_is_off(tmp_path: Any):
    program = "import sys, gateway.asgi; print(any('opentelemetry.exporter' in name for name in sys.modules))"
    environment = {"PATH": "", "DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
