"""The transports. Telemetry stores and counts each by its value."""

from enum import StrEnum


class Transport(StrEnum):
    REST = "rest"
    WEBSOCKET = "websocket"
    HTTP = "http"
    SSE = "sse"
    STDIO = "stdio"
    REPLAY = "replay"  # a recorded call that staff run again; see telemetry.measurement.OUTSIDE_FIGURES
    PLAYGROUND = "playground"  # a call that staff try; the same
    PAGE = "page"  # for people: no operation is called here, but keys can be rejected
