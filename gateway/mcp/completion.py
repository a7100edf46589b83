"""Completion: suggests values from the account for the arguments of prompts and the variables of resource templates."""

from collections.abc import Container, Mapping, Sequence
from typing import Any

import mcp.types as types
from mcp.server import ServerRequestContext

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument, nearest
from context_protection.core.policy import DEFAULTS
from gateway.access.callers import confirm
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.catalog.prompts import LONGEST_ARGUMENT, MAX_COUNTED, Complete, is_storable, prompts
from gateway.mcp.errors import as_protocol_errors
from gateway.mcp.paging import fitting, tokens_of
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.resources import by_template
from gateway.threads.limits import on_thread

MAX_VALUES = 100  # limit of the protocol


def completion_handlers(stdio_peer: Peer | None) -> dict[str, Any]:
    """The SDK server's completion handler. `stdio_peer`: the caller if the transport carries no credentials."""

    async def complete(ctx: ServerRequestContext[Any], params: types.CompleteRequestParams) -> types.CompleteResult:
        with as_protocol_errors(ctx.protocol_version):
            peer = peer_of(ctx, stdio_peer)
            completion = await on_thread(peer.limit_key, _completion, params, peer.caller)
        return types.CompleteResult(completion=completion)

    return {"on_completion": complete}


def _completion(params: types.CompleteRequestParams, caller: Caller) -> types.Completion:
    """Suggested values; none for an argument that takes any value. Raises InvalidArgument for an unknown name."""
    hidden = confirm(caller).tools.hidden
    complete = _completer(params.ref, params.argument.name, hidden)
    text, typed = params.argument.value, (params.context and params.context.arguments) or {}
    is_plausible = len(text) <= LONGEST_ARGUMENT and is_storable(text)
    found = complete(text, typed) if complete is not None and is_plausible else []
    shown = list(found[:MAX_VALUES])
    shown = shown[: fitting(tokens_of(dumps(value).decode() for value in shown))]
    total = len(found) if len(found) <= MAX_COUNTED else None
    return types.Completion(values=shown, total=total, has_more=len(shown) < len(found))


def _completer(
    ref: types.ResourceTemplateReference | types.PromptReference, argument: str, hidden: Container[str]
) -> Complete | None:
    if isinstance(ref, types.PromptReference):
        return prompts.get(ref.name, hidden).argument(argument).complete
    operation = _operation(ref.uri, hidden)
    if argument == "id":
        return prompts.identifiers_of(operation.name)
    names = list(operation.schema(DEFAULTS)["properties"])
    if argument not in names:
        raise _unknown("argument", argument, names)
    return _sections(operation) if argument == "fields" else None


def _operation(template: str, hidden: Container[str]) -> Operation:
    templates = by_template(hidden)
    if template not in templates:
        raise _unknown("ref", template, list(templates))
    return templates[template]


def _sections(operation: Operation) -> Complete:
    names = ("all", *operation.field_names)

    def complete(text: str, typed: Mapping[str, str]) -> Sequence[str]:
        return [name for name in names if name.startswith(text)]

    return complete


def _unknown(parameter: str, name: str, names: Sequence[str]) -> InvalidArgument:
    close = nearest(name, names, cutoff=0.4)
    return InvalidArgument(
        f"There is nothing to complete for {name[:80]!r}.",
        reason=f"unknown_{parameter}",
        parameter=parameter,
        value=name,
        expected=f"one of: {', '.join(names)}",
        suggestion=f"Did you mean {close}?" if close else "Take it from the list of resource templates.",
    )
