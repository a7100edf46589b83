"""Connections to Redis that fail soon, and that are ready soon: the driver's own defaults try ten times, for a minute
in all, and ask several questions of a new connection, one after the other, before its first command."""

from functools import cache
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection, Connection, parse_url
from redis.retry import Retry


def connect(url: str, seconds: float) -> redis.Redis:
    """`seconds`: for one answer. Only a connection that was cut is made again, once: Redis may have been restarted. A
    new one costs no round trip but that of TCP."""
    return redis.Redis.from_url(
        url,
        connection_class=_prompt(parse_url(url).get("connection_class", Connection)),  # type: ignore[no-untyped-call]
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        protocol=2,
        driver_info=None,
    )


class _Prompt(AbstractConnection):
    """A connection that sends AUTH and SELECT with its first command, and reads their answers before that command's:
    the driver would wait for each of them."""

    _is_greeting = False
    _unread = 0  # answers to what was sent ahead

    def on_connect_check_health(self, check_health: bool = True) -> None:
        self._is_greeting, self._unread = True, 0
        try:
            super().on_connect_check_health(check_health=False)
        finally:
            self._is_greeting = False

    def read_response(self, *args: Any, **options: Any) -> Any:
        if self._is_greeting:
            self._unread += 1
            return b"OK"
        while self._unread:
            self._read_ahead()
        return super().read_response(*args, **options)

    def can_read(self, timeout: float = 0) -> bool:
        """Whether there is more than the answers to what was sent ahead."""
        while self._unread and super().can_read(timeout):
            self._read_ahead()
        return not self._unread and bool(super().can_read(timeout))

    def _read_ahead(self) -> None:
        self._unread -= 1
        try:
            super().read_response(disable_decoding=True)
        except redis.RedisError:
            self.disconnect()  # type: ignore[no-untyped-call]  # the command's own answer follows, and nobody reads it
            raise


@cache
def _prompt(kind: type[Any]) -> type[Any]:
    """Of TCP, TLS or a Unix socket, as the URL says."""
    return type(f"Prompt{kind.__name__}", (_Prompt, kind), {})
