"""The upstream of a connection that ops manage: one per process, replaced when the connection changes."""

import threading
from collections.abc import Container

from gateway.upstreams.connections import Connection
from gateway.upstreams.credentials import authentication_of
from gateway.upstreams.rates import Rate
from gateway.upstreams.registry import upstreams
from gateway.upstreams.upstream import Upstream
from gateway.upstreams.wire import Limits

MEGABYTE = 1024 * 1024
_made: dict[str, tuple[Connection, Upstream]] = {}
_lock = threading.Lock()


def upstream_of(connection: Connection) -> Upstream:
    with _lock:
        known = _made.get(connection.name)
        if known is not None and known[0] == connection:
            return known[1]
        upstream = upstreams.register(_upstream(connection))
        _made[connection.name] = connection, upstream
        return upstream


def _upstream(connection: Connection) -> Upstream:
    limits = Limits(
        connect_seconds=connection.connect_seconds,
        read_seconds=connection.read_seconds,
        total_seconds=connection.total_seconds,
        most_bytes=connection.most_megabytes * MEGABYTE,
        attempts=connection.attempts,
    )
    rates = (
        [Rate("calls", connection.rate_calls, connection.rate_seconds)]
        if connection.rate_calls and connection.rate_seconds
        else []
    )
    return Upstream(connection.name, authentication=authentication_of(connection), limits=limits, rates=rates)


def retain(names: Container[str]) -> None:
    """Removes all other upstreams: they have been disabled or deleted."""
    with _lock:
        for name in [each for each in _made if each not in names]:
            del _made[name]
            upstreams.remove(name)
