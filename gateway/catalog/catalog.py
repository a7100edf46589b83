"""The catalogue: every operation that can be called, over any transport."""

import difflib
import logging
import math
import threading
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import UnknownOperation, nearest
from context_protection.layers import declarations
from gateway.catalog.operation import Operation

logger = logging.getLogger(__name__)
T = TypeVar("T")

MAX_NAMED = 40  # operations that an error message lists
AGAIN_SECONDS = 1.0  # wait before a failed source is read again
LONGEST_NAME = 80  # characters of a name that are compared with other names


Source = Callable[[], Sequence[Operation]]
Switch = Callable[[], Collection[str]]  # returns the names of operations that are switched off


class Operations:
    """An immutable, ordered collection of operations by name."""

    def __init__(self, by_name: Mapping[str, Operation]) -> None:
        self._by_name = by_name
        self._former = {former: each for each in by_name.values() for former in each.former_names}

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def find(self, name: str, hidden: Container[str] = ()) -> Operation | None:
        """The operation with this name or former name."""
        operation = self._by_name.get(name) or self._former.get(name)
        return None if operation is None or operation.name in hidden else operation

    def get(self, name: str, hidden: Container[str] = ()) -> Operation:
        """Raises UnknownOperation if the operation is hidden or does not exist."""
        operation = self.find(name, hidden)
        if operation is None:
            visible = [each for each in self._by_name if each not in hidden]
            close = nearest(name, visible, cutoff=0.4)
            raise UnknownOperation(
                f"There is no operation {name[:80]!r}.",
                reason="unknown_operation",
                parameter="name",
                value=name,
                expected=_expected(name, visible),
                suggestion=f"Set name to {close}." if close else "List the tools, and call one of them.",
            )
        return operation


class Catalogue:
    """Operations by name, in the order in which they were offered: first the fixed ones, then those of sources, which
    change with the configuration. Of operations with the same name the first one is used, with the budgets of its
    connector."""

    def __init__(self) -> None:
        self._fixed: dict[str, Operation] = {}
        self._fixed_connectors: dict[str, str] = {}  # name of a fixed operation → its connector
        self._connectors: dict[str, str] = {}  # the same for every operation, also if it is no longer used
        self._sources: list[Source] = []
        self._source_connectors: list[str] = []
        self._switches: list[Switch] = []
        self._off: frozenset[str] = frozenset()  # fixed operations that are switched off
        self._sourced: list[Sequence[Operation]] = []  # each source's operations when it was last read
        self.operations = Operations({})
        self._revision: int | None = None
        self._again_at = math.inf  # time.monotonic(); finite if a source has failed and must be read again
        self._lock = threading.Lock()

    def offer(self, operations: Iterable[Operation], connector: str = "") -> None:
        """Adds operations that stay until they are withdrawn. Raises ImproperlyConfigured if another connector has
        offered an operation of the same name."""
        with self._lock:
            offered = {operation.name: operation for operation in operations}
            self._check_free(offered.keys() & self._fixed.keys(), connector)
            self._fixed.update(offered)
            self._fixed_connectors.update(dict.fromkeys(offered, connector))
            self._merge()

    def _check_free(self, known: Collection[str], connector: str) -> None:
        for name in known:
            holder = self._fixed_connectors[name]
            if connector and holder not in ("", connector):
                raise ImproperlyConfigured(
                    f"The connectors {holder} and {connector} both offer an operation {name}. Rename one of the two."
                )

    def withdraw(self, name: str) -> None:
        """Removes an offered operation, if it exists."""
        with self._lock:
            self._fixed.pop(name, None)
            self._merge()

    def follow(self, source: Source, connector: str = "") -> None:
        """Adds operations for as long as `source` returns them. `source` is called on a thread whenever the
        configuration has changed, and must return the same object for an unchanged operation."""
        with self._lock:
            self._sources.append(source)
            self._source_connectors.append(connector)
            self._revision = None

    def obey(self, switch: Switch) -> None:
        """Leaves out the fixed operations whose names `switch` returns. `switch` is called like a source."""
        with self._lock:
            self._switches.append(switch)
            self._revision = None

    def connector_of(self, name: str) -> str:
        """The connector that the operation comes from; "" if it is unknown."""
        return self._connectors.get(name, "")

    @property
    def switched_off(self) -> list[Operation]:
        """The fixed operations of connectors that are switched off."""
        return [each for name, each in self._fixed.items() if name in self._off]

    @property
    def is_current(self) -> bool:
        """Whether `refresh` has nothing to do."""
        return revisions.current() == self._revision and time.monotonic() < self._again_at

    def refresh(self) -> None:
        """Reads the sources again if the configuration has changed, or if a source has failed. Blocks."""
        if self.is_current:
            return
        with self._lock:
            if self.is_current:
                return
            revision = revisions.current()
            before = [*self._sourced, *[None] * len(self._sources)]
            results = [_read(source) for source in self._sources]
            self._sourced = [last or () if now is None else now for now, last in zip(results, before, strict=False)]
            switched = [_read(switch) for switch in self._switches]
            if None not in switched:
                self._off = frozenset(name for names in switched for name in names or ())
            self._merge()
            self._revision = revision
            self._again_at = time.monotonic() + AGAIN_SECONDS if None in (*results, *switched) else math.inf

    def _merge(self) -> None:
        """Replaces `operations`, unless nothing has changed."""
        merged = {name: each for name, each in self._fixed.items() if name not in self._off}
        connectors = {**self._connectors, **self._fixed_connectors}
        for connector, operations in zip(self._source_connectors, self._sourced, strict=False):
            for operation in operations:
                if merged.setdefault(operation.name, operation) is operation:
                    connectors[operation.name] = connector
                else:
                    logger.warning("two operations have the same name", extra={"operation": operation.name})
        self._connectors = connectors
        for name in {each.name for each in self.operations} - merged.keys():
            declarations.withdraw(name)
        for operation in merged.values():
            connector = self.connector_of(operation.name)
            declarations.declare(operation.name, operation.kind, operation.settings, connector)
        if [*self.operations] != [*merged.values()]:
            self.operations = Operations(merged)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.operations)

    def find(self, name: str, hidden: Container[str] = ()) -> Operation | None:
        return self.operations.find(name, hidden)

    def current_name(self, name: str) -> str:
        """The name of the operation with this name or former name, by which its settings are found; the same name if
        there is none."""
        operation = self.operations.find(name)
        return name if operation is None else operation.name

    def get(self, name: str, hidden: Container[str] = ()) -> Operation:
        """Raises UnknownOperation if the operation is hidden or does not exist."""
        return self.operations.get(name, hidden)


def _read(source: Callable[[], T]) -> T | None:
    """The source's operations. None if the source failed: its earlier operations stay in use, and other sources are not
    affected (law 5)."""
    try:
        return source()
    except Exception:
        logger.exception("operations could not be read; the previous ones stay in use")
        return None


def _expected(name: str, visible: Sequence[str]) -> str:
    """All names, or only the closest ones if there are many."""
    if len(visible) <= MAX_NAMED:
        return f"one of: {', '.join(visible)}"
    close = difflib.get_close_matches(name[:LONGEST_NAME], visible, n=5, cutoff=0.3)
    return f"one of {len(visible)} names, which search_tools finds" + (f": {', '.join(close)} …" if close else "")


catalogue = Catalogue()
