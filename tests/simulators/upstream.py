"""An upstream that keeps its callers waiting, over real HTTP: it knows when they have come, and when they hang up."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BODY = b'{"id": 7, "name": "Seven"}'


class WaitingUpstream:
    """Answers when `release` is set; `hung_up` is set when a caller has gone before that."""

    def __init__(self) -> None:
        self.url = ""
        self.begun = threading.Event()
        self.release = threading.Event()
        self.hung_up = threading.Event()


@contextmanager
def waiting_upstream() -> Iterator[WaitingUpstream]:
    upstream = WaitingUpstream()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            upstream.begun.set()
            self.connection.settimeout(0.02)
            while not upstream.release.is_set():
                try:
                    gone = self.connection.recv(1) == b""
                except TimeoutError:
                    continue
                if gone:
                    upstream.hung_up.set()
                    return
            self.connection.settimeout(None)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(BODY)))
            self.end_headers()
            self.wfile.write(BODY)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        upstream.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield upstream
        finally:
            upstream.release.set()
            server.shutdown()
            thread.join()
