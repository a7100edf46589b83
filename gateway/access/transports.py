"""The transports. Telemetry stores and counts each by its value."""

from enum import StrEnum


class Transport(StrEnum):
    REST = "rest"
    WEBSOCKET = "websocket"
    HTTP = "http"
    SSE = "sse"
    STDIO = "stdio"
    PAGE = "page"  # for people: no operation is called here, but keys can be rejected
