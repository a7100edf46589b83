"""Prompts over MCP: the list, and the user message of each."""

from collections.abc import Mapping
from typing import Any

import mcp.types as types
from mcp.server import ServerRequestContext

from gateway.access.callers import confirm
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.prompts import Prompt, prompts
from gateway.mcp.clients import loads_lazily
from gateway.mcp.errors import as_protocol_errors
from gateway.mcp.paging import page, tokens_of, written
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.tools import tool_list_of
from gateway.threads.limits import on_thread

LISTED = "prompts"


def prompt_handlers(stdio_peer: Peer | None) -> dict[str, Any]:
    """The SDK server's prompt handlers. `stdio_peer`: the caller if the transport carries no credentials."""

    async def list_prompts(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        with as_protocol_errors(ctx.protocol_version):
            cursor = params.cursor if params else None
            peer = peer_of(ctx, stdio_peer)
            found, following = await on_thread(peer.limit_key, _page, peer.caller, cursor)
        return types.ListPromptsResult(prompts=found, next_cursor=following)

    async def get_prompt(ctx: ServerRequestContext[Any], params: types.GetPromptRequestParams) -> types.GetPromptResult:
        with as_protocol_errors(ctx.protocol_version):
            peer = peer_of(ctx, stdio_peer)
            prompt, message = await on_thread(
                peer.limit_key, _message, params.name, params.arguments or {}, peer.caller, loads_lazily(ctx, peer)
            )
        content = types.TextContent(type="text", text=message)
        return types.GetPromptResult(
            description=prompt.description, messages=[types.PromptMessage(role="user", content=content)]
        )

    return {"on_list_prompts": list_prompts, "on_get_prompt": get_prompt}


def _page(caller: Caller, cursor: str | None) -> tuple[list[types.Prompt], str | None]:
    listed = [_listed(prompt) for prompt in prompts.visible(confirm(caller).tools.hidden).values()]
    return page(LISTED, listed, tokens_of(map(written, listed)), cursor)


def _listed(prompt: Prompt) -> types.Prompt:
    return types.Prompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            types.PromptArgument(
                name=argument.name,
                title=argument.title,
                description=argument.description,
                required=argument.is_required,
            )
            for argument in prompt.arguments
        ],
    )


def _message(name: str, given: Mapping[str, str], caller: Caller, is_lazy: bool) -> tuple[Prompt, str]:
    """Confirms the caller again, as for every call, because a message may contain account data. The calls in it are
    written so that the client can make them with its tool list."""
    prompt = prompts.get(name, confirm(caller).tools.hidden)
    hints = tool_list_of(caller, is_lazy).hints
    return prompt, prompt.message(given).text(lambda each: hints(catalogue.get(each.operation), each.arguments))
