"""The upstreams of this process, by name: a connector registers its own, health reads them all. Registering a name
again replaces what it stood for; calls that are under way end as they began."""

from gateway.upstreams.upstream import Upstream


class Registry:
    def __init__(self) -> None:
        self._upstreams: dict[str, Upstream] = {}

    def register(self, upstream: Upstream) -> Upstream:
        self._upstreams[upstream.name] = upstream
        return upstream

    def get(self, name: str) -> Upstream | None:
        return self._upstreams.get(name)

    def all(self) -> tuple[Upstream, ...]:
        return tuple(self._upstreams.values())

    def remove(self, name: str) -> None:
        self._upstreams.pop(name, None)


upstreams = Registry()
