"""Redis clients of django-redis, whose connections fail fast and open fast. The driver's defaults retry ten times, for
a minute in all, and spend several sequential round trips on a new connection before its first command."""

from functools import cache
from typing import Any

import redis
from django_redis.pool import ConnectionFactory
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection, Connection, parse_url
from redis.retry import Retry

REPLY_SECONDS = 1.0  # timeout of one reply


def connect(url: str) -> redis.Redis:
    """A client. All clients of one URL in a process share a connection pool."""
    client: redis.Redis = ConnectionFactory(options(url)).connect(url)
    return client


def options(url: str) -> dict[str, Any]:
    """The OPTIONS of a django-redis cache. A command is retried once, and only if the connection was cut, because Redis
    may have been restarted. A new connection costs only the TCP round trip."""
    return {
        "SOCKET_TIMEOUT": REPLY_SECONDS,
        "SOCKET_CONNECT_TIMEOUT": REPLY_SECONDS,
        "CONNECTION_POOL_KWARGS": {
            "connection_class": _prompt(parse_url(url).get("connection_class", Connection)),  # type: ignore[no-untyped-call]
            "retry": Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
            "protocol": 2,
            "driver_info": None,
        },
    }


class _EagerConnection(AbstractConnection):
    """A connection that pipelines AUTH and SELECT with its first command, and reads their replies before the command's
    own. The driver would wait for each reply."""

    _is_greeting = False
    _unread = 0  # unread replies to the pipelined commands

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
        """Whether anything can be read in addition to the replies to the pipelined commands."""
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
    return type(f"Prompt{kind.__name__}", (_EagerConnection, kind), {})
