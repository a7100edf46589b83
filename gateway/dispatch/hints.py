"""How each transport writes the hint "call this to get more". Responses of different transports differ in nothing else
(law 4)."""

from collections.abc import Callable, Container, Mapping
from typing import Any
from urllib.parse import quote

from context_protection.core.budget import dumps
from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation

Hints = Callable[[Operation, Mapping[str, Any]], dict[str, Any]]
SCHEME = "sluice"
_REST = "/api/v1/"

# The tools that call unlisted tools: CALL_TOOL calls those that only read, CALL_ACTION those that act.
CALL_TOOL, CALL_ACTION = "call_tool", "call_action"


def rest(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """{"endpoint": "/api/v1/bookings/7", "parameters": {"fields": "all"}}"""
    in_path = [name for name in arguments if f"{{{name}}}" in operation.endpoint]
    endpoint = operation.endpoint.format(**{name: quote(str(arguments[name]), safe="{}") for name in in_path})
    return {
        "endpoint": endpoint,
        "parameters": {name: _in_query(value) for name, value in arguments.items() if name not in in_path},
    }


def _in_query(value: Any) -> Any:
    """The value for a query string: an object or a list as JSON."""
    return dumps(value).decode() if isinstance(value, (dict, list)) else value


def mcp(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """{"tool": "get_booking", "arguments": {"id": 7, "fields": "all"}}"""
    return {"tool": operation.name, "arguments": dict(arguments)}


def resource(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """{"resource": "sluice://bookings/7?fields=all"}; for an operation that is not a resource, the tool call."""
    address = resource_address(operation)
    if not address:
        return mcp(operation, arguments)
    values = {name: _expanded(name, value) for name, value in arguments.items()}
    in_path = [name for name in values if f"{{{name}}}" in address]
    query = "&".join(f"{name}={value}" for name, value in values.items() if name not in in_path)
    return {"resource": address.format(**{name: values[name] for name in in_path}) + (query and f"?{query}")}


def resource_address(operation: Operation) -> str:
    """The address of a read-only operation that returns one record or text: sluice://bookings/{id}. Empty for all other
    operations."""
    is_one = operation.kind in {Kind.RECORD, Kind.TEXT} and "{id}" in operation.endpoint
    return f"{SCHEME}://{operation.endpoint.removeprefix(_REST)}" if is_one else ""


FILES = f"{SCHEME}://files/"


def file_address(handle: str) -> str:
    """The URI of a stored file: sluice://files/q3Zk0vYx1TnWb8Rd"""
    return f"{FILES}{handle}"


def _expanded(name: str, value: Any) -> str:
    """The value as RFC 6570 expands it. A placeholder such as {id} stays as it is, because the hint is then a template
    for many calls."""
    text = value if isinstance(value, str) else dumps(value).decode()
    return text if text == f"{{{name}}}" else quote(text, safe="")


def by_call_tool(listed: Container[str]) -> Hints:
    """Hints like `mcp`, but a tool that is not listed is called through `call_tool` or `call_action`:
    {"tool": "call_tool", "arguments": {"name": "get_booking", "arguments": {"id": 7, "fields": "all"}}}"""

    def hint(operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if operation.name in listed:
            return mcp(operation, arguments)
        calling = CALL_ACTION if operation.kind is Kind.ACTION else CALL_TOOL
        return {"tool": calling, "arguments": {"name": operation.name, "arguments": dict(arguments)}}

    return hint
