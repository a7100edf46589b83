"""The doors of one process, called as clients call them: what comes back is the parsed body."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.test import Client as HttpClient
from mcp import Client, MCPError
from mcp.shared.uri_template import UriTemplate
from mcp.types import CallToolResult

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.access.keys import digest
from gateway.access.models import ApiKey
from gateway.catalog.catalog import catalogue
from gateway.mcp.peers import Peer
from gateway.mcp.resources import by_template
from gateway.mcp.server import build_server

ADDRESSES = {operation.name: operation.endpoint for operation in catalogue}


TEMPLATES = {operation.name: template for template, operation in by_template().items()}


def uri_of(operation: str, arguments: Mapping[str, Any]) -> str:
    """As a client makes it of the published template (RFC 6570)."""
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in arguments.items()}
    return UriTemplate.parse(TEMPLATES[operation]).expand(texts)


@dataclass(frozen=True)
class Doors:
    key: str

    def choose(self, **choice: Any) -> None:
        """What the admin chooses for the key: tool_listing, pinned_tools, hidden_tools."""
        ApiKey.objects.filter(digest=digest(self.key)).update(**choice)
        revisions.bump()

    def rest(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """By the resource's address, as `detailsAvailable` names it."""
        in_path = {name: value for name, value in arguments.items() if f"{{{name}}}" in ADDRESSES[operation]}
        query = {name: value for name, value in arguments.items() if name not in in_path}
        return self.get(ADDRESSES[operation].format(**in_path), query)

    def get(self, address: str, query: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self.response(address, query).json()

    def response(self, address: str, query: Mapping[str, Any] | None = None) -> Any:
        """An object travels in a query as its JSON."""
        texts = {name: json.dumps(each) if isinstance(each, dict) else each for name, each in (query or {}).items()}
        return HttpClient().get(address, texts, headers={"Authorization": f"Bearer {self.key}"})

    def post(self, operation: str, arguments: Any) -> dict[str, Any]:
        return (
            HttpClient()
            .post(
                f"/api/v1/tools/{operation}",
                json.dumps(arguments),
                content_type="application/json",
                headers={"Authorization": f"Bearer {self.key}"},
            )
            .json()
        )

    def mcp(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Over the SDK's own client, in this process."""
        return async_to_sync(self.mcp_async)(operation, arguments)

    def resource(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """By the URI that the operation's template makes of the arguments."""
        return self.read(uri_of(operation, arguments))

    def read(self, uri: str, mode: str = "auto") -> dict[str, Any]:
        """A resource; a refusal in the form that the other doors have, though without its reason."""
        try:
            result = self.ask(lambda client: client.read_resource(uri), mode)
        except MCPError as refused:
            error = refused.error
            return {"error": {"code": error.code, "message": error.message, "data": error.data}}
        (content,) = result.contents
        assert (content.uri, content.mime_type) == (uri, "application/json")
        document: dict[str, Any] = json.loads(content.text)
        return document

    def ask(self, request: Callable[[Client], Awaitable[Any]], mode: str = "auto") -> Any:
        """What a request of the SDK's own client gives. Raises MCPError."""

        async def asked() -> Any:
            async with self.client(mode) as client:
                try:
                    return await request(client)
                except MCPError as refused:  # out of the client's task group, which would wrap it
                    return refused

        answer = async_to_sync(asked)()
        if isinstance(answer, MCPError):
            raise answer
        return answer

    @asynccontextmanager
    async def client(self, mode: str = "auto") -> AsyncIterator[Client]:
        """The SDK's own client of this process; `mode` is the era of the protocol that it speaks."""
        from gateway.threads.bridge import run_sync

        caller = await run_sync(caller_of_key, self.key)
        async with Client(build_server(Peer(caller, "stdio")), mode=mode) as client:
            yield client

    async def mcp_async(self, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        async with self.client() as client:
            result = await client.call_tool(operation, dict(arguments))
        assert result.structured_content is None
        if "estimatedTokens" in (result.meta or {}):
            return passed_on(result)
        assert result.content[0].type == "text", "an answer begins with its text"
        assert not [each for each in result.content[1:] if each.type not in ("image", "audio")]
        document: dict[str, Any] = json.loads(result.content[0].text)
        assert bool(result.is_error) == ("error" in document)
        return document

    def called(self, operation: str, arguments: Mapping[str, Any] | None = None, mode: str = "auto") -> CallToolResult:
        result = self.ask(lambda client: client.call_tool(operation, dict(arguments or {})), mode)
        assert isinstance(result, CallToolResult)
        return result


def passed_on(result: CallToolResult) -> dict[str, Any]:
    """Another server's result that came as it was, in the form of an envelope: the fields of its JSON, or its text."""
    texts = [block.text for block in result.content if block.type == "text"]
    document = json.loads(texts[0]) if len(texts) == 1 and texts[0].startswith("{") else {"content": "\n".join(texts)}
    return {"meta": dict(result.meta or {}), **({"error": document} if result.is_error else document)}
