"""Tools over MCP: the catalogue's operations or, if there are too many, a few tools that find and call them.

tools/list returns all tools if their definitions fit TOOL_LIST_BUDGET. Otherwise it returns search_tools,
describe_tool, call_tool, call_action if some tool acts, and the pinned tools. The admin can choose either form for a
key. An answer is one text block with the envelope's compact JSON, or the content blocks of another MCP server's result.
It has no structuredContent: given both, clients drop the text or spend tokens on both.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import mcp.types as types
from django.conf import settings
from django.utils.asyncio import async_unsafe
from mcp.server import ServerRequestContext

from context_protection.core.budget import MAX_CHARS, most_chars
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import CallError, InvalidArgument, NotAuthenticated
from context_protection.core.payloads import Envelope
from context_protection.core.policy import Kind, Policy
from context_protection.core.scopes import BudgetScope
from context_protection.core.tokens import claude
from gateway.access.programs import Program
from gateway.catalog.caller import Caller, ToolChoice
from gateway.catalog.definition import DESCRIBE_TOOL, ToolDefinition
from gateway.catalog.definition_size import definition_tokens
from gateway.catalog.operation import Operation
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.configuration import Configuration, current
from gateway.dispatch.dispatch import serve
from gateway.dispatch.hints import CALL_ACTION, Hints
from gateway.dispatch.measurements import record_error
from gateway.mcp.call_tools import ACTING, CALLING, READING, requested_call
from gateway.mcp.client_questions import Answered, answered
from gateway.mcp.clients import is_lazy, loads_lazily, program_of
from gateway.mcp.discovery import slowest
from gateway.mcp.errors import as_protocol_errors
from gateway.mcp.instructions import instructions
from gateway.mcp.paging import page
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.progress import reported_to
from gateway.threads.limits import on_thread
from gateway.tracing.identity import note_trace_of

LISTED = "tools"
MAX_RESULT_SIZE = "anthropic/maxResultSizeChars"
ROUNDING = 1000  # characters that a client may count in addition to the text

# -- The list ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Definition:
    """A published tool and its JSON. In Claude tokens: `tokens` is the size of what a model reads, `sent_tokens` that
    of the whole JSON."""

    tool: types.Tool
    json: str
    tokens: int
    sent_tokens: int


@lru_cache(maxsize=4096)
def definition(published: ToolDefinition, policy: Policy) -> Definition:
    """Cached for each policy, because counting the tokens of hundreds of tools is slow."""
    tool = types.Tool(
        name=published.name,
        title=published.title,
        description=published.published_description(policy),
        input_schema=published.listed_schema(policy),
        annotations=_annotations(published),
        _meta=_declared(policy),
    )
    json = tool.model_dump_json(by_alias=True, exclude_none=True)
    return Definition(tool, json, definition_tokens(published, policy), claude.count(json))


def _annotations(published: ToolDefinition) -> types.ToolAnnotations:
    """Omits the other hints for read-only tools: they mean nothing there, and cost tokens in every prompt."""
    if published.kind is not Kind.ACTION:
        return types.ToolAnnotations(read_only_hint=True)
    return types.ToolAnnotations(destructive_hint=published.destructive, idempotent_hint=published.idempotent)


def _declared(policy: Policy) -> dict[str, Any] | None:
    """The declared size limit of results, if ops have raised the hard cap: Claude Code moves a result above 50,000
    characters into a file unless its tool declares more."""
    limit = most_chars(policy)
    return {MAX_RESULT_SIZE: limit + ROUNDING} if limit > MAX_CHARS else None


@dataclass(frozen=True)
class ListedTools:
    """The answer to tools/list for one caller. `searched`: it has search tools instead of all tools. `whole`: the
    tokens of all tools' definitions."""

    definitions: Sequence[Definition]
    searched: bool
    whole: int
    instructions: str

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


class ToolLists:
    """Caches the tool lists of one configuration, by ToolChoice and, for a caller with budgets of its own, by caller:
    definitions name page sizes and thresholds. Each is built on first use."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._built: dict[tuple[ToolChoice, str], ListedTools] = {}

    def of(self, choice: ToolChoice, caller: str = "") -> ListedTools:
        key = choice, self.configuration.budgets.own(caller)
        if key not in self._built:
            self._built[key] = self._build(*key)
        return self._built[key]

    @async_unsafe
    def _build(self, choice: ToolChoice, caller: str) -> ListedTools:
        visible = [each for each in self.configuration.operations if each.name not in choice.hidden]
        listed = [self._definition(each, caller) for each in visible if each.listed]
        is_brief = any(each.listed and each.shown is not None for each in visible)
        describing = [each for each in visible if each.name == DESCRIBE_TOOL] if is_brief else []
        every = [*listed, *(self._definition(each, caller) for each in describing)]
        whole = sum(each.tokens for each in every)
        if not is_searched(choice, whole):
            return self._listed(choice, every, whole, searched=False)
        always = {*choice.pinned, *(each.name for each in visible if each.pinned)}
        pinned = [each for each in listed if each.tool.name in always]
        return self._listed(choice, [*self._search_tools(visible, caller), *pinned], whole, searched=True)

    def _search_tools(self, visible: Sequence[Operation], caller: str) -> list[Definition]:
        """The tools that search, describe and call the tools that are not listed."""
        calling = [READING, *([ACTING] if any(each.kind is Kind.ACTION for each in visible) else [])]
        return [self._definition(each, caller) for each in (*(each for each in visible if not each.listed), *calling)]

    def _listed(
        self, choice: ToolChoice, definitions: Sequence[Definition], whole: int, *, searched: bool
    ) -> ListedTools:
        names = {each.tool.name for each in definitions}
        written = instructions(names, self.configuration.operations, acts=CALL_ACTION in names, hidden=choice.hidden)
        return ListedTools(definitions, searched, whole, written)

    def _definition(self, published: ToolDefinition, caller: str) -> Definition:
        """Ignores arms of rollouts and experiments, because a changed list costs its clients their prompt cache."""
        at = BudgetScope(published.name, caller=caller)
        budgets = self.configuration.budgets
        return definition(published, budgets.resolve(at) if caller else budgets.policy(published.name))


def is_searched(choice: ToolChoice, tokens: int) -> bool:
    """Whether a client gets search tools instead of all tools. `tokens`: the size of all tools' definitions."""
    if choice.listing == "":
        return tokens > int(settings.TOOL_LIST_BUDGET)
    return choice.listing == "search"


_cached_listings: ToolLists | None = None


def tool_list_of(caller: Caller, is_lazy: bool = False) -> ListedTools:
    """The current tool list of the caller's key. A lazy client, which reads definitions only when it needs them, gets
    all tools, unless the admin has chosen otherwise for the key. Blocks. Raises NotAuthenticated."""
    listings = _listings()
    choice = listings.configuration.confirm(caller).tools
    return listings.of(replace(choice, listing="all") if is_lazy and not choice.listing else choice, caller.name)


def _listings() -> ToolLists:
    global _cached_listings
    configuration, cached = current(), _cached_listings
    if cached is None or cached.configuration is not configuration:
        cached = _cached_listings = ToolLists(configuration)
    return cached


def unrestricted_list() -> ListedTools:
    """The tool list of a key for which the admin has chosen nothing. Blocks."""
    return _listings().of(ToolChoice())


def all_definition_tokens() -> dict[str, int]:
    """Name of each listed tool → tokens of its definition, for a key without a tool choice of its own. Blocks."""
    return {each.tool.name: each.tokens for each in _listings().of(ToolChoice(listing="all")).definitions}


def tool_list_figures() -> dict[str, Any]:
    """The share of TOOL_LIST_BUDGET that the definitions of all tools take, and whether clients get a search instead.
    Blocks."""
    listed = unrestricted_list()
    return {
        "tokens": listed.whole,
        "budget": int(settings.TOOL_LIST_BUDGET),
        "tools": len(_listings().of(ToolChoice(listing="all")).definitions),
        "isSearch": listed.searched,
    }


def fingerprint(caller: Caller) -> str:
    """A digest of the caller's current tool list. It changes whenever the list does, and is the same in every process.
    Empty for a caller that is no longer admitted. Blocks."""
    try:
        lists = [tool_list_of(caller), *([tool_list_of(caller, is_lazy=True)] if settings.LAZY_CLIENTS else [])]
        return " ".join(each.fingerprint for each in lists)
    except NotAuthenticated:
        return ""


def page_of_tools(caller: Caller, is_lazy: bool, cursor: str | None) -> tuple[list[types.Tool], str | None]:
    """The tools from `cursor` on that fit the hard cap (law 1), and the cursor for the rest. Blocks. Raises
    InvalidCursor, NotAuthenticated."""
    definitions = tool_list_of(caller, is_lazy).definitions
    return page(LISTED, [each.tool for each in definitions], [each.sent_tokens for each in definitions], cursor)


# -- The handlers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _CallerHints:
    """Hints that use only tools of the caller's own list. The list is looked up on first use, on the call's
    thread."""

    caller: Caller
    is_lazy: bool

    def __hash__(self) -> int:
        """Equal callers have equal ids. To hash all of their fields takes ten times as long, for each cache."""
        return hash((self.caller.id, self.is_lazy))

    @cached_property
    def _hints(self) -> Hints:
        return tool_list_of(self.caller, self.is_lazy).hints

    def __call__(self, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return self._hints(operation, arguments)


def tool_handlers(stdio_peer: Peer | None) -> dict[str, Any]:
    """The SDK server's tool handlers. `stdio_peer`: the caller if the transport carries no credentials."""

    async def list_tools(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        started = time.perf_counter()
        with as_protocol_errors(ctx.protocol_version):
            cursor = params.cursor if params else None
            peer = peer_of(ctx, stdio_peer)
            is_lazy = loads_lazily(ctx, peer)
            found, following = await on_thread(peer.limit_key, page_of_tools, peer.caller, is_lazy, cursor)
        slowest.note(time.perf_counter() - started)
        return types.ListToolsResult(tools=found, next_cursor=following)

    async def call_tool(ctx: ServerRequestContext[Any], params: types.CallToolRequestParams) -> Answered:
        peer = peer_of(ctx, stdio_peer)
        note_trace_of(ctx.meta)
        call = tool_call(params.name, params.arguments or {}, peer, program_of(ctx, peer))
        try:
            resolved = _resolved(call, params)
            async with reported_to(ctx, resolved.operation[:80]):
                return await answered(ctx, params, peer, resolved.operation, lambda: _served(resolved))
        except CallError as error:
            return text_result(error.body.decode(), is_error=True)

    return {"on_list_tools": list_tools, "on_call_tool": call_tool}


def tool_call(name: str, arguments: Mapping[str, Any], peer: Peer, client: Program) -> Call:
    hints = _CallerHints(peer.caller, is_lazy(client))
    return Call(
        name,
        arguments,
        peer.caller,
        peer.transport,
        hints,
        program=client,
        session=peer.limit_key,
        id=peer.call_id,
    )


def _resolved(call: Call, params: types.CallToolRequestParams) -> Call:
    """The call of the requested operation. If it is invalid, records the rejected call and raises InvalidArgument."""
    if params.name not in CALLING:
        return call
    try:
        requested = requested_call(params, call.caller)
    except InvalidArgument as error:
        record_error(call, error)
        raise
    return replace(call, operation=requested.operation, arguments=requested.arguments)


async def _served(call: Call) -> types.CallToolResult:
    return result_of(await serve(call))


def result_of(envelope: Envelope) -> types.CallToolResult:
    is_error, native = envelope.failure is not None, envelope.native
    if native is None:
        return text_result(envelope.body.decode(), is_error)
    return types.CallToolResult(content=list(native.blocks), _meta=dict(native.meta) or None, is_error=is_error)


def text_result(text: str, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)
