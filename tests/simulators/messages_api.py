"""Anthropic's Messages API on a port of this machine: real HTTP, as slow and as odd as a test wants.

with messages_api() as api:
    api.text = "…"                           # what the model writes
    api.status = 429; api.release.clear()    # refuse; hold answers until release.set()
    … api.url …; api.requests[0].body, .headers
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "claude-haiku-4-5-20251001"


@dataclass(frozen=True)
class MessagesRequest:
    path: str
    headers: Mapping[str, str]  # by lower-case names
    body: dict[str, Any]


class MessagesApi:
    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.text = ""
        self.stop_reason = "end_turn"
        self.usage = {"input_tokens": 1_000, "output_tokens": 100}
        self.raw: bytes | None = None  # sent instead of a message
        self.requests: list[MessagesRequest] = []
        self.release = threading.Event()
        self.release.set()

    def body(self) -> bytes:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"type": "error", "error": {"type": "any", "message": "no"}}).encode()
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": self.text}],
            "stop_reason": self.stop_reason,
            "stop_sequence": None,
            "usage": self.usage,
        }
        return json.dumps(message).encode()


@contextmanager
def messages_api() -> Iterator[MessagesApi]:
    api = MessagesApi()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            api.requests.append(MessagesRequest(self.path, headers, body))
            api.release.wait(60)
            sent = api.body()
            with suppress(ConnectionError):  # a caller may have given up
                self.send_response(api.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield api
        finally:
            api.release.set()
            server.shutdown()
            thread.join()
