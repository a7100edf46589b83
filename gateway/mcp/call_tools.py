"""The tools that call unlisted tools: call_tool for those that only read, call_action for those that act."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp.types as types

from context_protection.core import json_limits
from context_protection.core.errors import InvalidArgument
from context_protection.core.policy import Kind
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition import ToolDefinition
from gateway.dispatch.hints import CALL_ACTION, CALL_TOOL

_PARAMETERS: Mapping[str, Any] = {
    "name": {"type": "string", "description": "The tool's name.", "examples": ["get_booking"]},
    "arguments": {"type": "object", "description": "The tool's own arguments.", "examples": [{"id": 43000003}]},
}

# Neither has an operation: the dispatcher serves the tool that they name, under that tool's name.
READING = ToolDefinition(
    name=CALL_TOOL,
    title="Call a tool that reads",
    description="Calls a tool that search_tools found and that changes nothing: its name, and its own arguments as "
    "describe_tool has them. cursor and fields are among these arguments.",
    kind=Kind.TEXT,
    parameters=_PARAMETERS,
    required=("name",),
    form=(),
)
ACTING = ToolDefinition(
    name=CALL_ACTION,
    title="Call a tool that acts",
    description="Like call_tool, for a tool that creates, changes or deletes something (`acts`).",
    kind=Kind.ACTION,
    parameters=_PARAMETERS,
    required=("name",),
    form=(),
)
CALLING = {each.name: each for each in (READING, ACTING)}


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """The requested operation, and its own arguments."""

    operation: str
    arguments: Mapping[str, Any]


def requested_call(params: types.CallToolRequestParams, caller: Caller) -> RequestedCall:
    """The operation that a tool call requests; for call_tool and call_action, the tool that they name. Raises
    InvalidArgument."""
    given = params.arguments or {}
    if params.name not in CALLING:
        return RequestedCall(params.name, given)
    name, arguments = given.get("name"), given.get("arguments")
    if unknown := [each for each in given if each not in _PARAMETERS]:
        raise _misplaced(params.name, name, unknown[0], given)
    if not isinstance(name, str):
        raise InvalidArgument(
            "name is missing." if name is None else "name must be a text.",
            reason="missing_argument" if name is None else "invalid_name",
            parameter="name",
            value=name,
            expected="the name of a tool",
            suggestion=f"Find the tool with search_tools, and call {params.name} again with its name.",
        )
    if params.name == CALL_TOOL and acts(name, caller):
        raise _acting(name)
    return RequestedCall(name, _own_arguments(name, arguments))


def acts(name: str, caller: Caller) -> bool:
    """Whether the tool changes something, as far as the caller can see the tool."""
    operation = catalogue.find(name, caller.tools.hidden)
    return operation is not None and operation.kind is Kind.ACTION


def _acting(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name[:80]} changes something, and {CALL_TOOL} only reads.",
        reason="tool_acts",
        parameter="name",
        value=name,
        expected="the name of a tool that only reads",
        suggestion=f"Call {CALL_ACTION} with the same name and arguments.",
    )


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


def _misplaced(calling: str, name: Any, argument: str, given: Mapping[str, Any]) -> InvalidArgument:
    return InvalidArgument(
        f"{calling} has no argument {argument[:80]!r}.",
        reason="unknown_argument",
        parameter=argument[:80],
        value=given[argument],
        expected="only: name, arguments",
        suggestion=f"Put arguments of {str(name)[:80] if name else 'the tool'} itself into arguments.",
    )
