"""Tools over MCP: the catalogue's operations, or, if they are too many, three tools that find and call them.

tools/list returns all tools while their definitions fit TOOL_LIST_BUDGET. Otherwise it returns search_tools,
describe_tool, call_tool and the pinned tools. The admin can choose either form for a key. An answer is one text block
with the envelope's compact JSON and no structuredContent: given both, clients drop the text or pay for both.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import mcp.types as types
from django.conf import settings
from mcp.server import ServerRequestContext

from context_protection.core import json_limits
from context_protection.core.budget import MOST_CHARS, dumps, most_chars
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import CallError, InvalidArgument, NotAuthenticated
from context_protection.core.policy import Kind, Policy
from context_protection.core.tokens import claude
from gateway.catalog.caller import Caller, ToolChoice
from gateway.catalog.definition import DESCRIBE_TOOL, ToolDefinition
from gateway.catalog.operation import Operation
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.configuration import Configuration, current
from gateway.dispatch.dispatch import serve
from gateway.dispatch.hints import CALL_TOOL, Hints
from gateway.dispatch.measurements import record_error
from gateway.mcp.errors import as_protocol_errors
from gateway.mcp.paging import page
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.progress import reported
from gateway.threads.limits import on_thread

LISTED = "tools"
MAX_RESULT_SIZE = "anthropic/maxResultSizeChars"
ROUNDING = 1000  # characters that a client may count in addition to the text

# -- The list ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """A published tool, its JSON, and the Claude tokens of that JSON."""

    tool: types.Tool
    json: str
    tokens: int


@lru_cache(maxsize=4096)
def definition(published: ToolDefinition, policy: Policy) -> Definition:
    """Cached for each policy, because counting the tokens of hundreds of tools is slow."""
    tool = types.Tool(
        name=published.name,
        title=published.title,
        description=published.told(policy),
        input_schema=published.schema(policy, brief=True),
        annotations=_annotations(published),
        _meta=_declared(policy),
    )
    json = tool.model_dump_json(by_alias=True, exclude_none=True)
    return Definition(tool, json, claude.count(json))


def _annotations(published: ToolDefinition) -> types.ToolAnnotations:
    """For a read-only tool the other hints mean nothing, and every word of a tool list costs tokens in every prompt."""
    if published.kind is not Kind.ACTION:
        return types.ToolAnnotations(read_only_hint=True)
    return types.ToolAnnotations(destructive_hint=published.destructive, idempotent_hint=published.idempotent)


def _declared(policy: Policy) -> dict[str, Any] | None:
    """The declared size limit of results, if ops have raised the hard cap: Claude Code moves a result above 50,000
    characters into a file unless its tool declares more."""
    limit = most_chars(policy)
    return {MAX_RESULT_SIZE: limit + ROUNDING} if limit > MOST_CHARS else None


@dataclass(frozen=True)
class Listing:
    """The answer to tools/list for one caller. `searched`: it has the three finding tools instead of all tools."""

    definitions: Sequence[Definition]
    searched: bool

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(each.tool.name for each in self.definitions)

    @cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256("\n".join(each.json for each in self.definitions).encode()).hexdigest()[:16]

    @cached_property
    def hints(self) -> Hints:
        """Hints that use only tools of this list."""
        return hints.by_call_tool(self.names) if self.searched else hints.mcp


class _Listings:
    """The lists of one configuration, by the choice for a key. Each is built when it is first needed."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._built: dict[ToolChoice, Listing] = {}

    def of(self, choice: ToolChoice) -> Listing:
        if choice not in self._built:
            self._built[choice] = self._build(choice)
        return self._built[choice]

    def _build(self, choice: ToolChoice) -> Listing:
        visible = [each for each in self.configuration.operations if each.name not in choice.hidden]
        listed = [self._definition(each) for each in visible if each.listed]
        is_brief = any(each.listed and each.shown is not None for each in visible)
        describing = [each for each in visible if each.name == DESCRIBE_TOOL] if is_brief else []
        every = [*listed, *(self._definition(each) for each in describing)]
        if not _searched(choice, sum(each.tokens for each in every)):
            return Listing(every, searched=False)
        finding = [*(each for each in visible if not each.listed), CALLING]
        always = {*choice.pinned, *(each.name for each in visible if each.pinned)}
        pinned = [each for each in listed if each.tool.name in always]
        return Listing([*(self._definition(each) for each in finding), *pinned], searched=True)

    def _definition(self, published: ToolDefinition) -> Definition:
        return definition(published, self.configuration.policy(published.name))


def _searched(choice: ToolChoice, tokens: int) -> bool:
    if choice.listing == "":
        return tokens > int(settings.TOOL_LIST_BUDGET)
    return choice.listing == "search"


_cached_listings: _Listings | None = None


def listing_of(caller: Caller) -> Listing:
    """The list for the caller's key now. Blocks. Raises NotAuthenticated."""
    global _cached_listings
    configuration, cached = current(), _cached_listings
    if cached is None or cached.configuration is not configuration:
        cached = _cached_listings = _Listings(configuration)
    return cached.of(configuration.confirm(caller).tools)


def fingerprint(caller: Caller) -> str:
    """A digest of the tool list for this caller now: it changes with any change of the list, and is the same in every
    process. Empty for a caller that is no longer admitted. Blocks."""
    try:
        return listing_of(caller).fingerprint
    except NotAuthenticated:
        return ""


def page_of_tools(caller: Caller, cursor: str | None) -> tuple[list[types.Tool], str | None]:
    """As many tools from `cursor` on as fit the hard cap (law 1), and the cursor for the rest. Blocks. Raises
    InvalidCursor, NotAuthenticated."""
    definitions = listing_of(caller).definitions
    return page(LISTED, [each.tool for each in definitions], [each.tokens for each in definitions], cursor)


# -- call_tool --------------------------------------------------------------------------------------


# call_tool has no operation: the dispatcher serves the tool that it names, under that tool's name.
CALLING = ToolDefinition(
    name=CALL_TOOL,
    title="Call a tool",
    description="Calls a tool that search_tools found: its name, and its own arguments as describe_tool has them. "
    "cursor and fields are among these arguments.",
    kind=Kind.ACTION,
    parameters={
        "name": {"type": "string", "description": "The tool's name.", "examples": ["get_booking"]},
        "arguments": {"type": "object", "description": "The tool's own arguments.", "examples": [{"id": 43000003}]},
    },
    required=("name",),
    form=(),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The requested operation, and its own arguments."""

    operation: str
    arguments: Mapping[str, Any]


def asked_for(params: types.CallToolRequestParams) -> Asked:
    """The operation that a tool call requests; for call_tool, the tool that it names. Raises InvalidArgument."""
    given = params.arguments or {}
    if params.name != CALL_TOOL:
        return Asked(params.name, given)
    name, arguments = given.get("name"), given.get("arguments")
    if unknown := [each for each in given if each not in CALLING.parameters]:
        raise _misplaced(name, unknown[0], given)
    if not isinstance(name, str):
        raise InvalidArgument(
            "name is missing." if name is None else "name must be a text.",
            reason="missing_argument" if name is None else "invalid_name",
            parameter="name",
            value=name,
            expected="the name of a tool",
            suggestion="Find the tool with search_tools, and call call_tool again with its name.",
        )
    return Asked(name, _own_arguments(name, arguments))


def _own_arguments(name: str, arguments: Any) -> Mapping[str, Any]:
    """The arguments as an object. Some clients send them as JSON text."""
    try:
        own = json_limits.loads(arguments, "arguments") if isinstance(arguments, str) else arguments
    except ValueError:
        own = arguments
    if own is None:
        return {}
    if isinstance(own, dict):
        return own
    raise InvalidArgument(
        "arguments must be an object.",
        reason="invalid_arguments",
        parameter="arguments",
        value=arguments,
        expected=f"an object of the arguments of {name[:80]}",
        suggestion="Leave arguments out for a tool without any; describe_tool says what a tool takes.",
    )


def _misplaced(name: Any, argument: str, given: Mapping[str, Any]) -> InvalidArgument:
    return InvalidArgument(
        f"call_tool has no argument {argument[:80]!r}.",
        reason="unknown_argument",
        parameter=argument[:80],
        value=given[argument],
        expected="only: name, arguments",
        suggestion=f"Arguments of {str(name)[:80] if name else 'the tool'} itself belong into arguments.",
    )


# -- The handlers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CallerHints:
    """Hints that the caller can follow literally with its own tool list. The list is looked up when a hint is first
    needed, on the call's thread."""

    caller: Caller

    @cached_property
    def _hints(self) -> Hints:
        return listing_of(self.caller).hints

    def __call__(self, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._hints(operation, arguments)


def tool_handlers(stdio_peer: Peer | None) -> dict[str, Any]:
    """The SDK server's tool handlers. `stdio_peer`: the caller if the transport carries no credentials."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        with as_protocol_errors(ctx.protocol_version):
            cursor = params.cursor if params else None
            peer = peer_of(ctx, stdio_peer)
            found, following = await on_thread(peer.limit_key, page_of_tools, peer.caller, cursor)
        return types.ListToolsResult(tools=found, next_cursor=following)

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        peer = peer_of(ctx, stdio_peer)
        hints = _CallerHints(peer.caller)
        call = Call(params.name, params.arguments or {}, peer.caller, peer.transport, hints, session=peer.limit_key)
        try:
            resolved = _resolved(call, params)
            async with reported(ctx, resolved.operation[:80]):
                envelope = await serve(resolved)
        except CallError as error:
            return _result(dumps(error.document()), is_error=True)
        return _result(envelope.body)

    return {"on_list_tools": list_tools, "on_call_tool": call_tool}


def _resolved(call: Call, params: types.CallToolRequestParams) -> Call:
    """The call of the requested operation. Raises InvalidArgument, and records that call as rejected."""
    try:
        requested = asked_for(params)
    except InvalidArgument as error:
        record_error(call, error)
        raise
    return replace(call, operation=requested.operation, arguments=requested.arguments)


def _result(body: bytes, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=body.decode())], is_error=is_error)
