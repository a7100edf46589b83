"""The events of streams, kept for who reconnects (Last-Event-ID): in memory, for one process."""

from itertools import count

from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp.types import JSONRPCMessage


class Events(EventStore):
    def __init__(self) -> None:
        self._numbers = count(1)
        self._kept: dict[str, tuple[str, JSONRPCMessage | None]] = {}  # in the order of their ids

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        event_id = str(next(self._numbers))
        self._kept[event_id] = stream_id, message
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if last_event_id not in self._kept:
            return None
        stream_id, _ = self._kept[last_event_id]
        for event_id, (stream, message) in list(self._kept.items()):
            if stream == stream_id and int(event_id) > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, event_id))
        return stream_id
