"""Generated tools/call messages: valid ones, and ones that are wrong in up to three places."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

META = "io.modelcontextprotocol"
MODERN = "2026-07-28"
HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
TOOLS = ("list_things", "get_thing", "fails", "breaks", "asks", "by_region", "old_name", "secret", "call_tool", "none")
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 7, 1.5, 1e300, 2**53, 2**63, 2**64, -(2**63) - 1, 10**30, "", "7", " ", "é", "\x00",
    "\x7f", "\u2028", "😀", [], {}, [1], {"a": 1}, {"name": "list_things"}, "tools/call", "2.0", "x" * 300,
)  # fmt: skip
TEXTS = ("Loïc", "x", "", 'a "quoted" \\ word', "日本語", "line\nline", "\x7f", "7")
KEYS = ("name", "arguments", "_meta", "progressToken", "id", "jsonrpc", "method", "params", "inputResponses",
        "requestState", "traceparent", "cursor", "x")  # fmt: skip


@dataclass
class Message:
    """`headers`: of a request over HTTP."""

    body: bytes
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)


class Messages:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def over_http(self, count: int) -> Iterator[Message]:
        for number in range(count):
            version = self._chance.choice((MODERN, MODERN, *HANDSHAKES, "1999-01-01"))
            document = self._document(number, is_enveloped=version == MODERN or self._chance.random() < 0.05)
            headers = self._headers(document, version)
            wrong = self._chance.choice((0, 0, 1, 1, 2, 3))
            for _ in range(wrong):
                if self._chance.random() < 0.5:
                    document = self._changed(document)
                else:
                    self._change_headers(headers)
            body = self._written(document)
            yield Message(self._damaged(body) if wrong and self._chance.random() < 0.15 else body, headers)

    def over_a_socket(self, count: int, *, is_modern: bool) -> Iterator[bytes]:
        """Never a second handshake, nor what has no end."""
        for number in range(count):
            document = self._document(number, is_enveloped=is_modern or self._chance.random() < 0.05)
            wrong = self._chance.choice((0, 0, 1, 1, 2, 3))
            for _ in range(wrong):
                document = self._changed(document)
            body = self._written(document)
            yield self._damaged(body) if wrong and self._chance.random() < 0.15 else body

    # -- Valid messages -------------------------------------------------------------------------------

    def _document(self, number: int, *, is_enveloped: bool) -> Any:
        params: dict[str, Any] = {"name": self._chance.choice(TOOLS), "arguments": self._arguments()}
        if self._chance.random() < 0.1:
            del params["arguments"]
        if is_enveloped:
            params["_meta"] = {f"{META}/protocolVersion": MODERN, f"{META}/clientCapabilities": {}}
            if self._chance.random() < 0.7:
                params["_meta"][f"{META}/clientInfo"] = {"name": "generated", "version": "1"}
        if self._chance.random() < 0.3:
            known = {"progressToken": self._chance.choice((number, "a token")), "claudecode/toolUseId": "toolu_1"}
            chosen = self._chance.sample(list(known), self._chance.choice((1, 2)))
            params["_meta"] = {**params.get("_meta", {}), **{name: known[name] for name in chosen}}
        request_id = number if self._chance.random() < 0.8 else f"id {number}"
        return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}

    def _arguments(self) -> dict[str, Any]:
        chosen = self._chance.sample(
            ("text", "id", "limit", "region", "fields", "x"), self._chance.choice((0, 1, 1, 2, 3))
        )
        values: dict[str, Any] = {"limit": self._chance.choice((1, 2, 50, 0, "2")), "fields": "all", "region": "eu"}
        return {name: values.get(name, self._chance.choice(TEXTS)) for name in chosen}

    def _headers(self, document: dict[str, Any], version: str) -> list[tuple[bytes, bytes]]:
        headers = {
            "content-type": "application/json",
            "accept": self._chance.choice(
                ("application/json, text/event-stream", "*/*", "text/*, application/json;q=0.5")
            ),
            "host": "testserver",
            "mcp-protocol-version": version,
        }
        if version == MODERN:
            headers |= {"mcp-method": "tools/call", "mcp-name": document["params"]["name"]}
        elif self._chance.random() < 0.1:
            del headers["mcp-protocol-version"]
        if self._chance.random() < 0.1:
            headers["mcp-param-region"] = self._chance.choice(("eu", "us"))
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    # -- What can be wrong ----------------------------------------------------------------------------

    def _changed(self, document: Any) -> Any:
        """The document with one place changed; sometimes all of it."""
        if self._chance.random() < 0.03:
            return self._chance.choice(([document], [], document, *STRANGE))
        places = [document] if isinstance(document, dict) else []
        if isinstance(document, dict) and isinstance(document.get("params"), dict):
            places += [document["params"], *(each for each in document["params"].values() if isinstance(each, dict))]
        if not places:
            return document
        place = self._chance.choice(places)
        match self._chance.choice(("drop", "add", "change", "change", "rename")):
            case "drop" if place:
                place.pop(self._chance.choice(list(place)))
            case "add":
                place[self._chance.choice(KEYS)] = self._chance.choice(STRANGE)
            case "change" if place:
                place[self._chance.choice(list(place))] = self._chance.choice(STRANGE)
            case "rename" if place:
                place[self._chance.choice(KEYS)] = place.pop(self._chance.choice(list(place)))
        return document

    def _change_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        at = self._chance.randrange(len(headers))
        name, value = headers[at]
        match self._chance.choice(("drop", "repeat", "repeat otherwise", "change", "encode", "space")):
            case "drop":
                del headers[at]
            case "repeat":
                headers.append((name, value))
            case "repeat otherwise":
                headers.append((name, b"another"))
            case "change":
                others = (b"", b"another", b"application/json", MODERN.encode(), b"2025-06-18", b"get_thing", b"\xff")
                headers[at] = name, self._chance.choice(others)
            case "encode":
                headers[at] = name, b"=?base64?bGlzdF90aGluZ3M=?="
            case "space":
                headers[at] = name, b" " + value + b" "

    def _written(self, document: Any) -> bytes:
        """Python's JSON has NaN and numbers of any length."""
        separators = self._chance.choice(((",", ":"), (", ", ": "), (" ,\n", "\t: ")))
        return json.dumps(document, ensure_ascii=self._chance.random() < 0.5, separators=separators).encode()

    def _damaged(self, body: bytes) -> bytes:
        at = self._chance.randrange(len(body) + 1)
        match self._chance.choice(("cut", "insert", "twice", "nan", "long", "surrogate", "mark")):
            case "cut":
                return body[:at]
            case "insert":
                return (
                    body[:at] + self._chance.choice((b"\xff", b"\x00", b'"', b",", b"}", b" ", b"\\u0041")) + body[at:]
                )
            case "twice":
                return body.replace(b"{", b'{"id": 5, "name": "get_thing", ', 1)
            case "nan":
                return body.replace(b"2.0", b"NaN", 1) if at % 2 else body.replace(b"{}", b'{"x": NaN}', 1)
            case "long":
                return body.replace(b"{}", b'{"x": 123456789012345678901234567890.5e3}', 1)
            case "surrogate":
                return body.replace(b"text", rb"\ud800", 1)
        return b"\xef\xbb\xbf" + body
