"""Redis connections that fail fast and open fast. The driver's defaults retry ten times, for a minute in all, and spend
several sequential round trips on a new connection before its first command."""

from functools import cache
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection, Connection, parse_url
from redis.retry import Retry


def connect(url: str, seconds: float) -> redis.Redis:
    """A client; `seconds` is the timeout of one reply. It retries once, and only if the connection was cut, because
    Redis may have been restarted. A new connection costs only the TCP round trip."""
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
    """A connection that pipelines AUTH and SELECT with its first command, and reads their replies before the command's
    own. The driver would wait for each reply."""

    _is_greeting = False
    _unread = 0  # replies to the pipelined commands that are not read yet

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
        """Whether anything can be read besides the replies to the pipelined commands."""
        while self._unread and super().can_read(timeout):
            self._read_ahead()
        return not self._unread and bool(super().can_read(timeout))

    def _read_ahead(self) -> None:
        self._unread -= 1
        try:
            super().read_response(disable_decoding=True)
        except redis.RedisError:
            self.disconnect()  # type: ignore[no-untyped-call]  # otherwise the command's own reply would stay unread
            raise


@cache
def _prompt(kind: type[Any]) -> type[Any]:
    """A subclass of `kind` (TCP, TLS or Unix socket, chosen by the URL)."""
    return type(f"Prompt{kind.__name__}", (_Prompt, kind), {})
