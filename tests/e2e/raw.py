"""Every transport as bytes: what no client of good manners would send, and what comes back for it."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from queue import SimpleQueue
from typing import IO, Any, Protocol
from urllib.parse import quote, urlencode

import httpx2
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.e2e import forks
from tests.e2e.serving import Serving
from tests.patience import PATIENCE

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw", "version": "1"},
}
LATE = 7  # the id of calls whose answers nobody waits for: they come when they come
_ids = count(1_000_000)


@dataclass(frozen=True)
class Reply:
    """What came back: the status of HTTP, or the code that closed a socket (0: neither), and the messages."""

    status: int
    messages: tuple[Any, ...] = ()
    text: str = ""

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The errors of JSON-RPC, of tools' results and of REST, alike."""
        return [error for message in self.messages if (error := _error_in(message)) is not None]


def _error_in(message: Any) -> dict[str, Any] | None:
    if not isinstance(message, dict):
        return None
    result = message.get("result")
    if isinstance(result, dict) and result.get("isError"):
        message = json.loads(result["content"][0]["text"])
    error = message.get("error")
    return error if isinstance(error, dict) else None


class Transport(Protocol):
    """`send` gives what came back for a message, `call` for the call of a tool whose arguments are this JSON; `ping`
    shows that the next message is answered as ever."""

    def send(self, body: bytes) -> Reply: ...

    def call(self, tool: str, arguments: bytes) -> Reply: ...

    def ping(self) -> None: ...


def request(method: str, params: dict[str, Any] | None = None, request_id: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": next(_ids) if request_id is None else request_id, "method": method}
    return json.dumps({**message, **({} if params is None else {"params": params})}).encode()


def call_of(tool: str, arguments: bytes, request_id: int) -> bytes:
    """The arguments stand in it as they are, valid or not."""
    head = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,"arguments":'
    return head % (request_id, json.dumps(tool).encode()) + arguments + b"}}"


def messages_in(text: str) -> tuple[Any, ...]:
    """Of a JSON body, or of a body of events."""
    if text.startswith(("event:", "data:", ":")):
        return tuple(json.loads(line[5:]) for line in text.split("\n") if line.startswith("data:"))
    return (json.loads(text),) if text else ()


# -- HTTP -------------------------------------------------------------------------------------------


class _Http:
    def __init__(self, sluice: Serving, path: str, **headers: str) -> None:
        self.path = path
        headers = {"Authorization": f"Bearer {sluice.key}", "Content-Type": "application/json", **headers}
        self.client = httpx2.Client(base_url=sluice.base, headers=headers, timeout=PATIENCE)

    def send(self, body: bytes) -> Reply:
        answer = self.client.post(self.path, content=body)
        return Reply(answer.status_code, messages_in(answer.text), answer.text)


class Rest(_Http):
    """The document is the body, which holds the arguments of a tool."""

    def __init__(self, sluice: Serving) -> None:
        super().__init__(sluice, "/api/v1/tools/list_listings")

    def call(self, tool: str, arguments: bytes) -> Reply:
        answer = self.client.post(f"/api/v1/tools/{tool}", content=arguments)
        return Reply(answer.status_code, messages_in(answer.text), answer.text)

    def ping(self) -> None:
        reply = self.send(b'{"limit": 1}')
        assert (reply.status, len(reply.messages[0]["items"])) == (200, 1)


class RestQuery(Rest):
    """The document is a parameter of the query."""

    def send(self, body: bytes) -> Reply:
        return self._get(f"where={quote(body)}")

    def call(self, tool: str, arguments: bytes) -> Reply:
        """Arguments that are texts: each is a parameter."""
        return self._get(urlencode(json.loads(arguments)))

    def _get(self, query: str) -> Reply:
        answer = self.client.get(f"/api/v1/listings?{query}")
        return Reply(answer.status_code, messages_in(answer.text), answer.text)

    def ping(self) -> None:
        reply = self.send(b"{}")
        assert reply.status == 200, reply


class StreamableHttp(_Http):
    def __init__(self, sluice: Serving) -> None:
        super().__init__(sluice, "/mcp", Accept="application/json, text/event-stream")

    def call(self, tool: str, arguments: bytes) -> Reply:
        return self.send(call_of(tool, arguments, next(_ids)))

    def ping(self) -> None:
        reply = self.send(request("ping"))
        assert (reply.status, reply.messages[0].get("result")) == (200, {})


# -- Streams: the answer to a ping that follows closes what came back -------------------------------


class _Stream:
    """`_put` sends a message, `_get` receives one."""

    def _put(self, body: bytes) -> None:
        raise NotImplementedError

    def _get(self) -> Any:
        raise NotImplementedError

    def initialize(self) -> None:
        self._put(request("initialize", INITIALIZE))
        assert "result" in self._get()
        self._put(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, body: bytes) -> Reply:
        """What comes before the answer to a ping that is sent right behind it."""
        self._put(body)
        return Reply(0, self._until_pong())

    def call(self, tool: str, arguments: bytes) -> Reply:
        """Arguments that are valid: waits for the answer of this call."""
        number = next(_ids)
        self._put(call_of(tool, arguments, number))
        return Reply(0, (self._until(number)[-1],))

    def ping(self) -> None:
        assert [message for message in self._until_pong() if message.get("id") != LATE] == []

    def _until_pong(self) -> tuple[Any, ...]:
        number = next(_ids)
        self._put(request("ping", request_id=number))
        *before, pong = self._until(number)
        assert pong["result"] == {}
        return tuple(before)

    def _until(self, number: int) -> list[Any]:
        """The messages up to the answer of this id."""
        came = [self._get()]
        while came[-1].get("id") != number:
            came.append(self._get())
        return came


class WebSocket(_Stream):
    def __init__(self, sluice: Serving, connections: ExitStack) -> None:
        self.sluice = sluice
        self.connections = connections
        self._open()

    def _open(self) -> None:
        headers = {"Authorization": f"Bearer {self.sluice.key}"}
        connection = connect(
            self.sluice.websocket,
            subprotocols=["mcp"],  # type: ignore[list-item] # websockets' type of it is a NewType of str
            additional_headers=headers,
            open_timeout=PATIENCE,
        )
        self.socket: ClientConnection = self.connections.enter_context(connection)
        self.initialize()

    def _put(self, body: bytes) -> None:
        """A text frame, whatever is in it."""
        self.socket.send(body, text=True)

    def _get(self) -> Any:
        return json.loads(self.socket.recv(timeout=PATIENCE))

    def send(self, body: bytes) -> Reply:
        """A socket that is closed for what was sent is followed by another."""
        try:
            return super().send(body)
        except ConnectionClosed as closed:
            self.connections.close()
            self._open()
            return Reply(closed.rcvd.code if closed.rcvd else 1006)


class Sse(_Stream):
    """The answers come on a stream of events; a message is refused by the response to its own request."""

    def __init__(self, sluice: Serving, stream: httpx2.Response, client: httpx2.Client) -> None:
        self._chunks = stream.iter_bytes()
        self._rest = b""
        self.client = client
        self.endpoint = self._data().decode()
        self.initialize()

    def _put(self, body: bytes) -> None:
        self.answer = self.client.post(self.endpoint, content=body)

    def _get(self) -> Any:
        return json.loads(self._data())

    def _data(self) -> bytes:
        """Of the next event. Lines end where bytes say so: a text's own separators of lines do not end them."""
        while True:
            line, ends, self._rest = self._rest.partition(b"\n")
            if not ends:
                self._rest = line + next(self._chunks)
            elif line.startswith(b"data:"):
                return line[5:].strip()

    def send(self, body: bytes) -> Reply:
        self._put(body)
        answer = self.answer
        refused = answer.status_code >= 400
        return Reply(answer.status_code, self._until_pong(), answer.text if refused else "")


class Stdio(_Stream):
    """A line is a message: one that holds newlines is several."""

    def __init__(self, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.stdin, self.stdout = stdin, stdout
        self.lines: SimpleQueue[bytes] = SimpleQueue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.stdout:
            self.lines.put(line)

    def _put(self, body: bytes) -> None:
        self.stdin.write(body + b"\n")
        self.stdin.flush()

    def _get(self) -> Any:
        return json.loads(self.lines.get(timeout=PATIENCE))


@contextmanager
def sse(sluice: Serving) -> Iterator[Transport]:
    headers = {"Authorization": f"Bearer {sluice.key}", "Content-Type": "application/json"}
    with (
        httpx2.Client(base_url=sluice.base, headers=headers, timeout=PATIENCE) as client,
        client.stream("GET", "/mcp/sse") as stream,
    ):
        yield Sse(sluice, stream, client)


@contextmanager
def stdio(sluice: Serving) -> Iterator[Transport]:
    reading, stdin = os.pipe()
    stdout, writing = os.pipe()
    process = forks.start(["mcp"], {**sluice.environment, "SLUICE_API_KEY": sluice.key}, reading, writing)
    os.close(reading)
    os.close(writing)
    with os.fdopen(stdout, "rb") as from_server:
        try:
            with os.fdopen(stdin, "wb") as to_server:
                lines = Stdio(to_server, from_server)
                lines.initialize()
                yield lines
        finally:
            process.wait(PATIENCE)
        lines.reader.join()


@contextmanager
def opened(sluice: Serving, transport: str) -> Iterator[Transport]:
    """By its name."""
    if transport == "sse":
        with sse(sluice) as events:
            yield events
    elif transport == "stdio":
        with stdio(sluice) as lines:
            yield lines
    elif transport == "websocket":
        with ExitStack() as connections:
            yield WebSocket(sluice, connections)
    else:
        over_http = {"rest": Rest, "query": RestQuery, "http": StreamableHttp}[transport](sluice)
        with over_http.client:
            yield over_http


TRANSPORTS = ("rest", "query", "http", "sse", "websocket", "stdio")
MCP = ("http", "sse", "websocket", "stdio")
