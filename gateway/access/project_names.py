"""The names of the registered projects, which the connector of projects provides."""

from collections.abc import Callable, Sequence

_providers: list[Callable[[], Sequence[str]]] = []


def provide(names: Callable[[], Sequence[str]]) -> None:
    _providers.append(names)


def project_names() -> list[str]:
    """May block."""
    return [name for names in _providers for name in names()]
