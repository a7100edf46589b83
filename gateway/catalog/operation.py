"""Operations: what can be called, and how it is fetched."""

import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind
from context_protection.core.shapes import ANY, Shape
from gateway.catalog.caller import Caller
from gateway.catalog.definition import ToolDefinition


@dataclass(frozen=True, slots=True)
class Fetched:
    """A payload that is fresh until `fresh_until` (time.monotonic()): until then an equal call gets the same answer.
    `version` is equal for equal payloads of equal calls; None: unknown."""

    payload: Payload
    fresh_until: float = 0.0
    version: Hashable = None


Fetch = Callable[[Mapping[str, Any], Caller], Payload]
FetchAsync = Callable[[Mapping[str, Any], Caller], Awaitable[Payload | Fetched]]


def as_fresh_as_its_answer() -> int:
    """The `version` of an operation whose data only the upstream knows. Freshness comes from each response, not from a
    revision."""
    return 0


@dataclass(frozen=True, eq=False)
class Operation(ToolDefinition):
    """One callable thing: its published definition, and how its data is fetched. `fetch` gets the valid arguments with
    defaults, and the caller. It either blocks, on a thread, or is a coroutine function, on the event loop, which is
    cancelled together with the call."""

    fetch: Fetch | FetchAsync
    endpoint: str
    _: KW_ONLY
    # Protection arguments derived from its own arguments: {"limit": 15}.
    form_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}
    record_operation: str | None = None  # the operation that returns one row as a record
    record_key: tuple[str, str] = ("id", "id")  # (argument of record_operation, field of the row)
    record_shared: Mapping[str, str] = field(default_factory=dict)  # passed on to it: its argument → the one here
    record_is_row: bool = True  # whether record_operation returns the whole row
    pinned: bool = False  # in every tool list, also in search mode
    listed: bool = True  # False: found only by search, not in the list of all tools
    tags: tuple[str, ...] = ()  # the upstream's words for it: tags and names
    settings: Mapping[str, Any] = field(default_factory=dict)  # its policy's defaults; budgets override them
    shape: Shape = field(default=ANY, repr=False)  # shape of the upstream's data; a snapshot goes on with it
    version: Callable[[], Hashable] | None = None  # version of the data behind answers; None: unknown, not cached
    is_redacted: bool = False  # the data was redacted when stored, or has no secrets
    called_once: bool = False  # fetched once per result, never again for later pages; always so for actions

    @property
    def is_called_once(self) -> bool:
        return self.called_once or self.kind is Kind.ACTION

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fetch)
