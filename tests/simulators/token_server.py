"""An OAuth 2.0 token endpoint on a port of this machine: real HTTP, counted, as slow and as odd as a test wants.

with token_server() as server:
    server.answer = {"access_token": "t", "expires_in": 60}     # default: "token-1", "token-2", … for an hour
    server.status = 401; server.release.clear()                 # refuse; hold answers until release.set()
    … server.url …; server.requests[0].form, .headers
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.patience import PATIENCE


@dataclass(frozen=True)
class TokenRequest:
    path: str
    headers: Mapping[str, str]  # by lower-case names
    form: Mapping[str, str]


class TokenServer:
    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.answer: Any = None
        self.requests: list[TokenRequest] = []
        self.asked = threading.Event()
        self.release = threading.Event()
        self.release.set()

    def body(self) -> bytes:
        if isinstance(self.answer, bytes):
            return self.answer
        issued = {"access_token": f"token-{len(self.requests)}", "token_type": "Bearer", "expires_in": 3600}
        return json.dumps(issued if self.answer is None else self.answer).encode()


@contextmanager
def token_server() -> Iterator[TokenServer]:
    tokens = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode())
            headers = {name.lower(): value for name, value in self.headers.items()}
            tokens.requests.append(TokenRequest(self.path, headers, dict(form)))
            status, body = tokens.status, tokens.body()
            tokens.asked.set()
            tokens.release.wait(PATIENCE)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        tokens.url = f"http://127.0.0.1:{server.server_port}/token"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield tokens
        finally:
            tokens.release.set()
            server.shutdown()
            thread.join()
