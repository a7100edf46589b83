"""The connector type. A connector is a folder beside this file whose `connector.py` defines CONNECTOR."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.catalog.operation import Operation
from gateway.catalog.prompts import Complete, Prompt
from gateway.connectors.switch_rows import SwitchRow
from gateway.upstreams.probes import Probes

Hook = Callable[[], Awaitable[None]]


def _nothing() -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
class Connector:
    """The operations of a `switchable` connector can be switched off in the admin. `operations` are fixed for the life
    of the process. `source` returns the operations that depend on the configuration; it runs on a thread after each
    configuration change. `identifiers` maps operation names to functions that complete record ids. `schedule` maps
    names to Celery's periodic tasks. `probes` returns the probes of the connector's upstreams. `switches` returns a row
    for each tool that can be switched on and off individually. `probes` and `switches` may block. `start` and `stop`
    run on the event loop of every process that serves requests."""

    name: str
    switchable: bool = False
    operations: Callable[[], Sequence[Operation]] = _nothing
    source: Callable[[], Sequence[Operation]] | None = None
    prompts: Callable[[], Iterable[Prompt]] = _nothing
    identifiers: Mapping[str, Complete] = field(default_factory=dict)
    schedule: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    probes: Probes = _nothing
    switches: Callable[[], Sequence[SwitchRow]] = _nothing
    start: Hook | None = None
    stop: Hook | None = None
