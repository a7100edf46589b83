"""What a connector is: a folder beside this file with a `connector.py` that names a CONNECTOR."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.catalog.operation import Operation
from gateway.catalog.prompts import Complete, Prompt

Hook = Callable[[], Awaitable[None]]


def _nothing() -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
class Connector:
    """`operations` are there for as long as the process. `source` gives those that come and go with the configuration:
    it is asked on a thread, whenever that has changed. `schedule` is Celery's, by name; `start` and `stop` run on the
    loop of every process that serves; `health` says how its upstreams are, by name (a JSON document each)."""

    name: str
    operations: Callable[[], Sequence[Operation]] = _nothing
    source: Callable[[], Sequence[Operation]] | None = None
    prompts: Callable[[], Iterable[Prompt]] = _nothing
    identifiers: Mapping[str, Complete] = field(default_factory=dict)
    schedule: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    start: Hook | None = None
    stop: Hook | None = None
