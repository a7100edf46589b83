"""The transport that `manage.py mcp` serves, from the environment (MCP_TRANSPORT, MCP_PORT)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class ServedTransport(StrEnum):
    STDIO = "stdio"
    HTTP_SSE = "http-sse"
    WEBSOCKET = "websocket"


PORTS = (1024, 65535)


class InvalidTransport(ValueError):
    """The message names the variable, its value, and what is expected."""


@dataclass(frozen=True, slots=True)
class TransportConfig:
    """`port` is None for stdio."""

    transport: ServedTransport
    port: int | None = None

    @classmethod
    def of(cls, transport: str, port: str) -> Self:
        """Parses the values of both variables. Raises InvalidTransport."""
        try:
            chosen = ServedTransport(transport.strip().lower())
        except ValueError:
            valid = ", ".join(ServedTransport)
            raise InvalidTransport(f"Invalid MCP_TRANSPORT: {transport}. Valid values: {valid}") from None
        return cls(chosen) if chosen is ServedTransport.STDIO else cls(chosen, _port(chosen, port))


def _port(transport: ServedTransport, text: str) -> int:
    if not text:
        raise InvalidTransport(f"MCP_PORT environment variable required for {transport} transport")
    low, high = PORTS
    if not text.isdecimal() or not low <= int(text) <= high:
        raise InvalidTransport(f"Port must be between {low} and {high}, got {text}")
    return int(text)
