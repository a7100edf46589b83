"""The store that the workers of one parent process share if there is no Redis. On a Unix socket, the parent answers the
Redis commands that Sluice's shared state needs (context_protection/stores/shared_store.py).

So shared state has one implementation, with and without Redis. Everything is in memory, and is lost when the parent
ends.
"""

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gateway.upstreams.limits import RESERVE, SlidingWindow
from gateway.workers.redis_protocol import NotRedis, read_request, reply

MICROSECONDS = 1e6
UNREAD_BYTES = 4 * 2**20  # a listener with more unread bytes is disconnected


class Memory:
    """Maps keys to values, each of which may expire."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._values: dict[bytes, Any] = {}
        self._until: dict[bytes, float] = {}

    def get(self, key: bytes) -> Any:
        if self._until.get(key, float("inf")) <= self._clock():
            self.delete(key)
        return self._values.get(key)

    def set(self, key: bytes, value: Any) -> None:
        self._values[key] = value
        self._until.pop(key, None)

    def change(self, key: bytes, value: Any) -> None:
        """Sets the value and keeps its expiry."""
        self._values[key] = value

    def expire(self, key: bytes, seconds: float) -> bool:
        if self.get(key) is None:
            return False
        self._until[key] = self._clock() + seconds
        self._drop_expired()
        return True

    def delete(self, key: bytes) -> bool:
        self._until.pop(key, None)
        return self._values.pop(key, None) is not None

    def _drop_expired(self) -> None:
        now = self._clock()
        for key in [key for key, until in self._until.items() if until <= now]:
            self.delete(key)


class StoreConnection:
    """One client connection. It receives the messages published to its channels."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer
        self.channels: set[bytes] = set()

    @property
    def has_left(self) -> bool:
        return self._reader.at_eof()

    def send(self, value: Any) -> None:
        self.writer.write(reply(value))
        if self.writer.transport.get_write_buffer_size() > UNREAD_BYTES:
            self.writer.transport.abort()


class SharedStore:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._memory = Memory(clock)
        self._windows: dict[tuple[bytes, int, float], SlidingWindow] = {}
        self._listeners: defaultdict[bytes, set[StoreConnection]] = defaultdict(set)
        self._waiting: defaultdict[bytes, deque[tuple[StoreConnection, asyncio.Future[bytes]]]] = defaultdict(deque)
        self._scripts: Mapping[bytes, Callable[[bytes, Sequence[bytes]], Any]] = {RESERVE.encode(): self._reserve}

    async def start(self, path: Path) -> asyncio.Server:
        return await asyncio.start_unix_server(self._serve, path)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = StoreConnection(reader, writer)
        try:
            while (request := await read_request(reader)) is not None:
                if request:  # like Redis, does not answer an empty request
                    client.send(await self._answer(client, request))
        except (NotRedis, OSError):
            pass
        finally:
            for channel in client.channels:
                self._listeners[channel].discard(client)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, client: StoreConnection, request: Sequence[bytes]) -> Any:
        name, *arguments = request
        command = name.decode("latin-1").upper()
        try:
            match command:
                case "SUBSCRIBE":
                    return self._subscribe(client, *arguments)
                case "UNSUBSCRIBE":
                    return self._unsubscribe(client, *(arguments or client.channels))
                case "BLPOP":
                    return await self._pop(client, *arguments)
            known = COMMANDS.get(command)
            return known(self, *arguments) if known else ValueError(f"unknown command '{command}'")
        except (TypeError, ValueError) as error:  # invalid arguments, which our own clients never send
            return error

    # -- Values -------------------------------------------------------------------------------------

    def ping(self) -> Any:
        return "PONG"

    def get(self, key: bytes) -> Any:
        return self._memory.get(key)

    def set(self, key: bytes, value: bytes, *options: bytes) -> Any:
        """Supports only the options for an expiry: EX seconds or PX milliseconds."""
        self._memory.set(key, value)
        match [option.upper() for option in options[:1]]:
            case [b"EX"]:
                self._memory.expire(key, int(options[1]))
            case [b"PX"]:
                self._memory.expire(key, int(options[1]) / 1000)
        return "OK"

    def delete(self, *keys: bytes) -> Any:
        return sum(map(self._memory.delete, keys))

    def add(self, key: bytes, amount: bytes) -> Any:
        total = int(self._memory.get(key) or 0) + int(amount)
        self._memory.change(key, b"%d" % total)
        return total

    def expire(self, key: bytes, seconds: bytes) -> Any:
        return self._memory.expire(key, int(seconds))

    def set_field(self, key: bytes, field: bytes, value: bytes) -> Any:
        fields = self._memory.get(key) or {}
        self._memory.change(key, {**fields, field: value})
        return field not in fields

    def delete_field(self, key: bytes, field: bytes) -> Any:
        fields = dict(self._memory.get(key) or {})
        was_there = fields.pop(field, None) is not None
        self._memory.change(key, fields)
        return was_there

    def fields(self, key: bytes) -> Any:
        return [part for pair in (self._memory.get(key) or {}).items() for part in pair]

    # -- Messages -----------------------------------------------------------------------------------

    def publish(self, channel: bytes, message: bytes) -> Any:
        listeners = list(self._listeners[channel])
        for listener in listeners:
            listener.send([b"message", channel, message])
        return len(listeners)

    def _subscribe(self, client: StoreConnection, channel: bytes) -> Any:
        client.channels.add(channel)
        self._listeners[channel].add(client)
        return [b"subscribe", channel, len(client.channels)]

    def _unsubscribe(self, client: StoreConnection, channel: bytes) -> Any:
        client.channels.discard(channel)
        self._listeners[channel].discard(client)
        return [b"unsubscribe", channel, len(client.channels)]

    def push(self, key: bytes, value: bytes) -> Any:
        """Hands the value to the client that has waited longest, or stores it."""
        for client, future in self._waiting.get(key, ()):
            if not (future.done() or client.has_left):
                future.set_result(value)
                return 1
        values = [*(self._memory.get(key) or ()), value]
        self._memory.change(key, values)
        return len(values)

    async def _pop(self, client: StoreConnection, key: bytes, seconds: bytes) -> Any:
        values = self._memory.get(key)
        if values:
            self._memory.change(key, values[1:] or None)
            return [key, values[0]]
        waiter = client, asyncio.get_running_loop().create_future()
        self._waiting[key].append(waiter)
        try:
            done, _ = await asyncio.wait([waiter[1]], timeout=float(seconds) or None)
            return [key, done.pop().result()] if done else None
        finally:
            self._waiting[key].remove(waiter)
            if not self._waiting[key]:
                del self._waiting[key]

    # -- Rates --------------------------------------------------------------------------------------

    def evaluate(self, script: bytes, count: bytes, key: bytes, *arguments: bytes) -> Any:
        """Supports only the script of rate limits."""
        known = self._scripts.get(script)
        return known(key, arguments) if known else ValueError("unknown script")

    def _reserve(self, key: bytes, arguments: Sequence[bytes]) -> Any:
        amount, seconds, longest = int(arguments[0]), int(arguments[1]) / MICROSECONDS, int(arguments[2]) / MICROSECONDS
        place = key, amount, seconds
        if (window := self._windows.get(place)) is None:
            window = self._windows[place] = SlidingWindow(amount, seconds, self._clock)
        wait = window.reserve(longest)
        return [int(wait * MICROSECONDS), max(0, window.left) if wait <= longest else 0]


COMMANDS: Mapping[str, Callable[..., Any]] = {
    "PING": SharedStore.ping,
    "GET": SharedStore.get,
    "SET": SharedStore.set,
    "DEL": SharedStore.delete,
    "INCRBY": SharedStore.add,
    "EXPIRE": SharedStore.expire,
    "HSET": SharedStore.set_field,
    "HDEL": SharedStore.delete_field,
    "HGETALL": SharedStore.fields,
    "PUBLISH": SharedStore.publish,
    "RPUSH": SharedStore.push,
    "EVAL": SharedStore.evaluate,
}
