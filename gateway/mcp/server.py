"""The MCP server: one SDK `Server` behind every transport.

Tools are the catalogue's operations. An answer is one text block, the envelope's compact JSON, and no
structuredContent: clients drop the text where both are present, or pay for both.
"""

import hashlib
from copy import copy
from itertools import accumulate
from typing import Any

import mcp.types as types
from mcp import MCPError
from mcp.server import NotificationOptions, Server, ServerRequestContext
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.models import InitializationOptions

from context_protection import budget
from context_protection.budget import dumps
from context_protection.errors import CallError, InvalidCursor, invalid_cursor
from context_protection.policies import policy_for
from context_protection.policy import Kind, Policy
from context_protection.stores import walks
from context_protection.tokens import claude
from gateway import hints
from gateway.access.callers import Caller
from gateway.corridor import Call, serve
from gateway.mcp.changes import Changes
from gateway.mcp.completion import completion_handlers
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.progress import reported
from gateway.mcp.prompts import prompt_handlers
from gateway.mcp.resources import resource_handlers
from gateway.operations import Operation, catalogue
from gateway.process.bridge import run_sync
from gateway.version import VERSION

LISTED = "tools"
# What is offered. What is read is not: it is subject to budgets, which the very next answer obeys.
CACHED: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
INSTRUCTIONS = (
    "Answers are kept small and nothing in them is lost. Ask instead of paging: where chooses rows, aggregate gives "
    "counts, sums, averages, percentiles by group or month (groupBy, metrics, orderBy, limit). An answer that was made "
    "smaller carries meta.resultHandle; what is stored costs no tokens: result_query runs SQL over all rows of a list "
    "(joins, dates, ranks), result_search finds text in a list, record or log, result_get reads a part. "
    "A list comes in pages: call again with cursor=nextCursor until there is none. A large record comes as a preview: "
    "meta.detailsAvailable names the call for the whole (fields=all) and its sections (fields=<section>). A long text "
    "comes in chunks, by cursor or by startLine/endLine."
)


class SluiceServer(Server[Any]):
    """Says that its tool list can change, also to clients of Streamable HTTP, whose manager asks without options."""

    announces = True  # that the tool list can change

    def silent(self) -> "SluiceServer":
        """The same server where there is no way to tell a client anything between its requests."""
        server = copy(self)
        server.announces = False
        return server

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=self.announces)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(stdio_peer: Peer | None = None, changes: Changes | None = None) -> SluiceServer:
    """The server. `stdio_peer` is who calls where the transport carries no credentials of its own; `changes` tells
    clients of a changed tool list."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        cursor = params.cursor if params else None
        try:
            page, following = await run_sync(page_of_tools, cursor)
        except InvalidCursor as error:
            data = error.document()["error"]["data"]
            raise MCPError(types.INVALID_PARAMS, error.message, data) from None
        return types.ListToolsResult(tools=page, next_cursor=following)

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        peer = peer_of(ctx, stdio_peer)
        call = Call(
            operation=params.name,
            arguments=params.arguments or {},
            caller=peer.caller,
            door=peer.door,
            hints=hints.mcp,
            lane=peer.lane,
        )
        try:
            with reported(ctx, params.name[:80]):
                envelope = await serve(call)
        except CallError as error:
            return _result(dumps(error.document()), is_error=True)
        return _result(envelope.body)

    server = SluiceServer(
        "sluice",
        title="Sluice",
        version=VERSION,
        instructions=INSTRUCTIONS,
        cache_hints=dict.fromkeys(CACHED, CacheHint(ttl_ms=5000, scope="private")),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **resource_handlers(stdio_peer),
        **prompt_handlers(stdio_peer),
        **completion_handlers(stdio_peer),
    )
    if changes is not None:
        changes.register(server)
    return server


def tools() -> list[types.Tool]:
    """The operations as tools, in the catalogue's order, with their ranges as the policy has them now. Blocks."""
    return [_tool(operation, policy_for(operation.name)) for operation in catalogue]


def fingerprint(caller: Caller) -> str:
    """Tells one state of the caller's tool list from another. Blocks."""
    return hashlib.sha256(repr(tools()).encode()).hexdigest()


def page_of_tools(cursor: str | None) -> tuple[list[types.Tool], str | None]:
    """Tools from `cursor` on, as many as the hard cap holds, and the cursor of the rest (law 1). Blocks. Raises
    InvalidCursor."""
    start = 0 if cursor is None else _place(cursor)
    rest, room = tools()[start:], policy_for("").hard_cap / budget.GUARD
    sizes = accumulate(claude.count(tool.model_dump_json(by_alias=True, exclude_none=True)) for tool in rest)
    count = max(1, sum(size <= room for size in sizes))
    return rest[:count], walks.sealer.seal(LISTED, start + count) if count < len(rest) else None


def _place(cursor: str) -> int:
    listed, place = walks.sealer.open(cursor)
    if listed != LISTED:
        raise invalid_cursor("cursor_mismatch", cursor, "The cursor was issued by another list.")
    return int(place)


def _tool(operation: Operation, policy: Policy) -> types.Tool:
    reads_only = operation.kind is not Kind.ACTION
    return types.Tool(
        name=operation.name,
        title=operation.title,
        description=f"{operation.description} {_protection(operation, policy)}".strip(),
        input_schema=operation.schema(policy, brief=True),
        # Of what only reads, the other hints mean nothing; every word of a tool list is paid for in every prompt.
        annotations=types.ToolAnnotations(read_only_hint=True) if reads_only else types.ToolAnnotations(),
    )


def _protection(operation: Operation, policy: Policy) -> str:
    """What a model should know of how answers are kept small."""
    if operation.kind is Kind.RECORD and policy.summarization:
        return f"Above {policy.token_budget_threshold:,} tokens it comes as a preview with sections to open."
    return ""


def _result(body: bytes, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=body.decode())], is_error=is_error)
