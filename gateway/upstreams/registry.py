"""The upstreams of this process, by name. Connectors register them, and the health page reads them. An upstream that
ops manage is built from its connection, and replaced when the connection changes."""

import threading
from collections.abc import Callable, Container, Iterable

from gateway.upstreams.auth.authentication import authentication_of
from gateway.upstreams.client import Upstream, UpstreamState
from gateway.upstreams.connections import Connection
from gateway.upstreams.limits import CallLimits, Rate

MEGABYTE = 1024 * 1024


class UpstreamRegistry:
    """Registering a name again replaces its upstream; in-flight calls finish on the old one."""

    def __init__(self) -> None:
        self._upstreams: dict[str, Upstream] = {}
        self._others: list[Callable[[], Iterable[UpstreamState]]] = []

    def register(self, upstream: Upstream) -> Upstream:
        known = self._upstreams.get(upstream.name)
        if known is not None and known is not upstream:
            known.drop()
        self._upstreams[upstream.name] = upstream
        upstream.share_breaker()
        return upstream

    def get(self, name: str) -> Upstream | None:
        return self._upstreams.get(name)

    def all(self) -> tuple[Upstream, ...]:
        return tuple(self._upstreams.values())

    def also(self, states: Callable[[], Iterable[UpstreamState]]) -> None:
        """Registers the states of upstreams that are not `Upstream` objects, such as MCP servers."""
        self._others.append(states)

    def states(self) -> list[UpstreamState]:
        """The states of all upstreams that this process knows."""
        return [*(each.state() for each in self.all()), *(state for others in self._others for state in others())]

    def remove(self, name: str) -> None:
        known = self._upstreams.pop(name, None)
        if known is not None:
            known.drop()


upstreams = UpstreamRegistry()


_made: dict[str, tuple[Connection, Upstream]] = {}
_lock = threading.Lock()


def upstream_of(connection: Connection) -> Upstream:
    """The upstream of a connection that ops manage. It is the same object until the connection changes."""
    with _lock:
        known = _made.get(connection.name)
        if known is not None and known[0] == connection:
            return known[1]
        upstream = upstreams.register(new_upstream(connection))
        _made[connection.name] = connection, upstream
        return upstream


def new_upstream(connection: Connection) -> Upstream:
    """A new, unregistered upstream: it has counted no failures and cached no answers yet."""
    limits = CallLimits(
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
    return Upstream(
        connection.name,
        authentication=authentication_of(connection),
        limits=limits,
        rates=rates,
        connector="openapi",
    )


def retain(names: Container[str]) -> None:
    """Removes all managed upstreams except these: the others have been disabled or deleted."""
    with _lock:
        for name in [each for each in _made if each not in names]:
            del _made[name]
            upstreams.remove(name)
