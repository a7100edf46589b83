"""The MCP server: one SDK `Server` behind every transport.

Tools are the catalogue's operations. An answer is one text block, the envelope's compact JSON, and no
structuredContent: clients drop the text where both are present, or pay for both.
"""

from typing import Any

import mcp.types as types
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.models import InitializationOptions

from context_protection.budget import dumps
from context_protection.errors import CallError
from context_protection.policies import policy_for
from context_protection.policy import Kind, Policy
from gateway import hints
from gateway.corridor import Call, serve
from gateway.mcp.peers import Peer, peer_of
from gateway.operations import Operation, catalogue
from gateway.process.bridge import run_sync
from gateway.version import VERSION

INSTRUCTIONS = (
    "Answers are kept small and nothing in them is lost. A list comes in pages: call again with cursor=nextCursor, "
    "until there is no nextCursor. A large record comes as a preview: meta.detailsAvailable names the call for the "
    "whole (fields=all) and its sections (fields=<section>). A long text comes in chunks, by cursor or by "
    "startLine/endLine. Prefer filters, order and fields to reading every page."
)


class SluiceServer(Server[Any]):
    """Says that its tool list can change, also to clients of Streamable HTTP, whose manager asks without options."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(stdio_peer: Peer | None = None) -> SluiceServer:
    """The server. `stdio_peer` is who calls where the transport carries no credentials of its own."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await run_sync(tools))

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        peer = peer_of(ctx, stdio_peer)
        call = Call(
            operation=params.name,
            arguments=params.arguments or {},
            caller=peer.caller,
            door=peer.door,
            hints=hints.mcp,
        )
        try:
            envelope = await serve(call)
        except CallError as error:
            return _result(dumps(error.document()), is_error=True)
        return _result(envelope.body)

    return SluiceServer(
        "sluice",
        title="Sluice",
        version=VERSION,
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": CacheHint(ttl_ms=5000, scope="private")},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def tools() -> list[types.Tool]:
    """The operations as tools, in the catalogue's order, with their ranges as the policy has them now. Blocks."""
    return [_tool(operation, policy_for(operation.name)) for operation in catalogue]


def _tool(operation: Operation, policy: Policy) -> types.Tool:
    reads_only = operation.kind is not Kind.ACTION
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=f"{operation.description} {_protection(operation, policy)}".strip(),
        input_schema=operation.schema(policy),
        annotations=types.ToolAnnotations(
            read_only_hint=reads_only,
            destructive_hint=False,
            idempotent_hint=reads_only,
            open_world_hint=False,
        ),
    )


def _protection(operation: Operation, policy: Policy) -> str:
    """What a model should know of how answers are kept small."""
    if operation.kind is Kind.RECORD and policy.summarization:
        return f"Above {policy.token_budget_threshold:,} tokens it comes as a preview with sections to open."
    return ""


def _result(body: bytes, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=body.decode())], is_error=is_error)
