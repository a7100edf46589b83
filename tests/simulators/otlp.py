"""An OpenTelemetry collector: takes spans and metrics over HTTP, and decodes them."""

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.patience import PATIENCE


@dataclass(frozen=True)
class Span:
    name: str
    trace: str
    id: str
    parent: str
    kind: int
    is_error: bool
    attributes: dict[str, Any]
    links: tuple[str, ...]  # ids of spans


@dataclass
class Collector:
    url: str = ""
    spans: list[Span] = field(default_factory=list)
    points: dict[str, list[Any]] = field(default_factory=dict)  # the newest data points of each metric
    resources: list[dict[str, Any]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def span(self, name: str, **attributes: Any) -> Span:
        """A span with these attributes, once it has arrived."""
        return self.until(
            lambda: next(
                (each for each in self.spans if each.name == name and attributes.items() <= each.attributes.items()),
                None,
            ),
            f"no span {name} with {attributes} among {[each.name for each in self.spans]}",
        )

    def until(self, found: Callable[[], Any], otherwise: str) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (result := found()):
            assert time.monotonic() < deadline, otherwise
            time.sleep(0.05)
        return result

    def take(self, path: str, body: bytes) -> None:
        self.bodies.append(body)
        if path.endswith("/traces"):
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(_attributes(resource.resource.attributes))
                self.spans += [_span(each) for scope in resource.scope_spans for each in scope.spans]
        elif path.endswith("/metrics"):
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        self.points[metric.name] = list(metric.histogram.data_points)


def _span(each: Any) -> Span:
    return Span(
        each.name,
        each.trace_id.hex(),
        each.span_id.hex(),
        each.parent_span_id.hex(),
        each.kind,
        each.status.code == 2,
        _attributes(each.attributes),
        tuple(link.span_id.hex() for link in each.links),
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in pairs}


attributes_of = _attributes


@contextmanager
def collector() -> Iterator[Collector]:
    received = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.take(self.path, gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
