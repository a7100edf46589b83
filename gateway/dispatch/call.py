"""A call as a transport hands it to the dispatcher."""

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.payloads import Payload
from gateway.access.programs import UNKNOWN, Program
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.dispatch.hints import Hints
from gateway.dispatch.response_cache import CacheKey, canonical
from gateway.tracing import identity, spans


@dataclass(frozen=True)
class Call:
    """One call. `arguments` are the caller's, not yet validated."""

    operation: str
    arguments: Mapping[str, Any]
    caller: Caller
    transport: Transport
    hints: Hints
    program: Program = UNKNOWN  # the client program
    session: Hashable = None  # identifies a connection of many calls; None: the connection carries one request
    id: str = field(default_factory=identity.current_or_new_id)  # shown to clients and in logs
    trace_id: str = field(default_factory=spans.trace_id)  # "" without a trace
    started: float = field(default_factory=time.perf_counter)
    witness: Callable[[Payload], None] | None = None  # sees the redacted data before protection; for staff only

    @cached_property
    def key(self) -> CacheKey | None:
        """The cache key. None for later pages, each of which is read once, and for arguments that are not JSON."""
        if "cursor" in self.arguments:
            return None
        try:
            return CacheKey(self.operation, self.caller.owner, self.hints, canonical(self.arguments))
        except TypeError:
            return None

    @property
    def limit_key(self) -> Hashable:
        """Calls with equal keys share a concurrency limit: those of a session or, without a session, of a caller."""
        return self.session or self.caller.id

    def of_caller(self, caller: Caller) -> "Call":
        return self if caller == self.caller else replace(self, caller=caller)

    @property
    def milliseconds(self) -> float:
        return (time.perf_counter() - self.started) * 1000
