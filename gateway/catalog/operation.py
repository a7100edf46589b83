"""Operations: their published definitions, and how their data is fetched."""

import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol, runtime_checkable

from context_protection.core.cached_property import cached_property
from context_protection.core.payloads import AnswerRequest, Envelope, Payload
from context_protection.core.policy import Kind, Policy
from context_protection.core.protocols import CheckedOncePerClass
from context_protection.core.shapes import ANY, Shape
from gateway.catalog.caller import Caller
from gateway.catalog.definition import ToolDefinition


@runtime_checkable
class NativeResult(Protocol, metaclass=CheckedOncePerClass):
    """An upstream's answer in MCP's own form. It builds the call's answer itself."""

    def answer(self, request: AnswerRequest, policy: Policy, protect: Callable[[Payload], Envelope]) -> Envelope:
        """The answer. `protect` redacts and protects a payload for the same request. Blocks. Raises CallError."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A payload that is fresh until `fresh_until` (time.monotonic()): until then an equal call gets the same answer.
    `version` is equal for equal payloads of equal calls; None: unknown. `size`: bytes of the upstream's answer; None:
    unknown, perhaps large."""

    payload: Payload | NativeResult
    fresh_until: float = 0.0
    version: Hashable = None
    size: int | None = None


@dataclass(frozen=True, slots=True)
class NamedText:
    """A text that a row of a list names by a handle: the arguments of the call that reads it, and its version."""

    arguments: Mapping[str, Any]
    version: str


Fetch = Callable[[Mapping[str, Any], Caller], Payload]
FetchAsync = Callable[[Mapping[str, Any], Caller], Awaitable[Payload | NativeResult | Fetched]]


def as_fresh_as_its_answer() -> int:
    """The `version` of an operation whose data only the upstream knows: freshness comes from each response, not from a
    revision."""
    return 0


@dataclass(frozen=True, eq=False)
class Operation(ToolDefinition):
    """A callable operation. `fetch` receives the valid arguments with defaults, and the caller. It is either a blocking
    function, run on a thread, or a coroutine function, run on the event loop and cancelled with the call."""

    fetch: Fetch | FetchAsync
    endpoint: str
    _: KW_ONLY
    # Protection arguments derived from its own arguments: {"limit": 15}.
    form_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}
    record_operation: str | None = None  # the operation that returns one row as a record
    record_key: tuple[str, str] = ("id", "id")  # (argument of record_operation, field of the row)
    record_shared: Mapping[str, str] = field(default_factory=dict)  # arguments to pass on: name there → name here
    record_is_row: bool = True  # whether record_operation returns the whole row
    pinned: bool = False  # in every tool list, even in search mode
    in_every_set: bool = False  # seen by every key, even with other tool sets, unless it is hidden
    listed: bool = True  # False: found only by search, not in the list of all tools
    former_names: tuple[str, ...] = ()  # earlier names, which still work
    tags: tuple[str, ...] = ()  # the upstream's tags and names for it
    route: str = ""  # the upstream's method and path, if it is one request: "GET /users/{id}"
    # Finds the text of a handle that a row of a list named. No result is stored for such a handle.
    named_text: Callable[[str], NamedText | None] | None = None
    # The fields that an argument compares, if their names differ from its own: {"arrivalFrom": ("checkInDate",)}.
    compares: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)  # its policy's defaults; budgets override them
    shape: Shape = field(default=ANY, repr=False)  # shape of the upstream's data, also for later pages of a snapshot
    version: Callable[[], Hashable] | None = None  # version of the data behind answers; None: unknown, not cached
    is_redacted: bool = False  # the data was redacted when stored, or has no secrets
    asks: bool = False  # its upstream can ask the client a question before it answers
    asks_again: bool = False  # it asks a single question, and can be called again with the client's answer
    called_once: bool = False  # fetched once per result, never again for later pages; always so for actions

    @property
    def is_called_once(self) -> bool:
        return self.called_once or self.kind is Kind.ACTION

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fetch)
