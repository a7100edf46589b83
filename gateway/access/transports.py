"""The transports. Telemetry stores and counts each by its value."""

from enum import StrEnum


class Transport(StrEnum):
    REST = "rest"
    WEBSOCKET = "websocket"
    HTTP = "http"
    SSE = "sse"
    STDIO = "stdio"
    REPLAY = "replay"  # a recorded call that staff run again; see telemetry.measurement.OUTSIDE_FIGURES
    PLAYGROUND = "playground"  # a call that staff make to try a tool; outside the figures too
    PAGE = "page"  # pages for people: they call no operation, but may reject a key
