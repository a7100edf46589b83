"""A provider's count endpoint on a port of this machine: real HTTP, and as many failures as a test wants."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class CountingProvider:
    """Counts a token a character, and the frame of a message; or answers with `status`, or with `reply`."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.status = 200
        self.reply: bytes | None = None
        self.url = ""

    def answer(self, document: dict[str, Any]) -> bytes:
        if self.reply is not None:
            return self.reply
        return json.dumps({"input_tokens": len(document["messages"][0]["content"]) + 6}).encode()


@contextmanager
def counting_provider() -> Iterator[CountingProvider]:
    provider = CountingProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            provider.requests.append({"path": self.path, "headers": dict(self.headers), "document": document})
            body = provider.answer(document)
            self.send_response(provider.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        provider.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()
