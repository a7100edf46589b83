"""A call to copy, as curl command and MCP request. Placeholders replace the key, and masked or missing values."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from telemetry.pages.call_arguments import Arguments


@dataclass(frozen=True, slots=True)
class Copies:
    curl: str
    mcp: str


def copies(tool: str, arguments: Arguments, base: str) -> Copies:
    """`base`: the address of this server, without a trailing slash."""
    names = [argument.name for argument in arguments.arguments]
    filled = with_placeholders(names, arguments.values or {}, arguments.masked)
    address = shlex.quote(f"{base}/api/v1/tools/{tool}")
    body = shlex.quote(json.dumps(filled, ensure_ascii=False))
    curl = (
        f"curl -X POST {address} \\\n"
        '  -H "Authorization: Bearer $SLUICE_API_KEY" \\\n'
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d {body}"
    )
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": filled}}
    return Copies(curl, json.dumps(request, ensure_ascii=False, indent=2))


def with_placeholders(names: Sequence[str], values: Mapping[str, Any], masked: Sequence[str]) -> dict[str, Any]:
    """The arguments. A masked or missing value is replaced by a placeholder: {"phone": "<phone>"}."""
    return {name: f"<{name}>" if name in masked or name not in values else values[name] for name in names}
