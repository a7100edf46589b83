"""The upstreams of this process, by name. Connectors register them, and the health page reads them. Registering a name
again replaces its upstream; in-flight calls finish on the old one."""

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
