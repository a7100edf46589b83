"""The ASGI application. MCP and the probes are routed before Django, because all of Django's threads may be in use."""

import os
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

import django

django.setup()

from channels.routing import ProtocolTypeRouter, URLRouter
from django.conf import settings

from context_protection.stores.announcements import announcements
from gateway.access import quotas
from gateway.api.repeated_requests import RepeatedRequests
from gateway.connectors import connectors
from gateway.dispatch.response_cache import response_cache
from gateway.mcp.admission import Endpoint
from gateway.mcp.connection_watcher import ConnectionWatcher
from gateway.mcp.consumer import socket_only, websocket_routes
from gateway.mcp.http import StreamableHTTP
from gateway.mcp.server import build_server
from gateway.mcp.sessions import sessions
from gateway.mcp.sse import LegacySSE
from gateway.mcp.tools import fingerprint, tool_list_figures
from gateway.pages.live_socket import live_socket_routes
from gateway.pages.probes import healthz, metrics, readyz
from gateway.pages.sums import answer_other_processes
from gateway.process import place, warmup
from gateway.process.gates import HASHING_PATHS, Gate
from gateway.process.handler import PooledHandler
from gateway.process.lifespan import Lifespan
from gateway.process.readiness import readiness
from gateway.process.reporter import reporter
from gateway.process.start_time import note_ready
from gateway.threads.bridge import run_sync
from gateway.tracing import export
from gateway.tracing.requests import Identified
from gateway.upstreams.exchange import close_connections
from gateway.workers import peers, relay
from gateway.workers.session_routing import SessionRouting
from telemetry import arguments, events, recorder, rejections
from telemetry.models import ProcessReport

export.start()  # before the server, which gets one more middleware if tracing is on
watcher = ConnectionWatcher(sessions, fingerprint, stdio_peer=None)
server = build_server(watcher=watcher)
streamable_http = StreamableHTTP(server, sessions, stateless=not settings.MCP_STATEFUL)
legacy_sse = LegacySSE(server, sessions)


async def share() -> None:
    answer_other_processes()
    announcements.start()
    await peers.start()


async def stop_sharing() -> None:
    await peers.stop()
    await run_sync(announcements.stop)


async def report() -> None:
    reporter.describe_tool_list(tool_list_figures)
    reporter.start(ProcessReport.ProcessKind.WEB)
    quotas.start()


async def stop_reporting() -> None:
    quotas.stop()
    await run_sync(reporter.stop)


async def flush_telemetry() -> None:
    await run_sync(export.stop)
    await run_sync(recorder.stop)
    await run_sync(rejections.stop)
    await run_sync(arguments.stop)
    await run_sync(events.stop)


all_connectors = connectors()
starts = [connector.start for connector in all_connectors if connector.start]
stops = [connector.stop for connector in all_connectors if connector.stop]
readiness.when_redis_is_lost(response_cache.forget)
lifespan = Lifespan(
    startup=[readiness.start, share, report, warmup.warm_up, *starts, streamable_http.start, watcher.start, note_ready],
    shutdown=[
        warmup.finish,
        stop_reporting,
        watcher.stop,
        streamable_http.stop,
        *stops,
        close_connections,
        flush_telemetry,
        stop_sharing,
        readiness.stop,
    ],
)
rest_of_http: Endpoint = RepeatedRequests(PooledHandler(gate=Gate(HASHING_PATHS)))
HTTP: dict[str, Endpoint] = {
    "/mcp": streamable_http,
    "/mcp/ws": socket_only,
    "/mcp/sse": legacy_sse.stream,
    legacy_sse.messages_path: legacy_sse.messages,
    "/healthz": healthz,
    "/readyz": readyz,
    "/metrics": metrics(otherwise=rest_of_http),
}


async def http(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await HTTP.get(scope["path"].rstrip("/"), rest_of_http)(scope, receive, send)


identified_http: Endpoint = Identified(http)
if place.is_worker():
    routed = SessionRouting(identified_http, is_stateful=settings.MCP_STATEFUL)
    relay.serve_with(routed.serve)
    identified_http = routed
SOCKETS = [*live_socket_routes(), *websocket_routes(server, sessions)]  # the last one denies all other paths
application = ProtocolTypeRouter({"lifespan": lifespan, "http": identified_http, "websocket": URLRouter(SOCKETS)})
