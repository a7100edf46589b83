"""Records calls that are rejected before they reach the dispatcher: a wrong key, a body that is too large, no free
slot. In a flood, a few calls a second are recorded; the others are only counted."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from context_protection.core import tokens
from context_protection.core.errors import CallError
from context_protection.core.tokens import claude
from gateway.access.addresses import prefix_of
from gateway.access.programs import Program
from gateway.access.visits import Visit
from gateway.catalog.caller import Caller
from gateway.failure_origins import origin_of
from gateway.upstreams.failures import cleaned
from telemetry import counters, recorder
from telemetry.measurement import Measurement

NO_KEY = "(no valid key)"
NO_OPERATION = "(none)"
A_SECOND = 20  # recorded calls per second and process
LONGEST_MESSAGE = 300  # characters


class RejectedCall(NamedTuple):
    """A call whose operation was not called. `client`: without a valid key, the network of the call's address."""

    ended: float  # time.time()
    transport: str
    caller: str
    client: str
    client_version: str
    reason: str
    message: str
    origin: str
    body: bytes

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.ended, UTC)

    def measured(self) -> Measurement:
        text = self.body.decode()
        size = tokens.formula(text)
        return Measurement.with_defaults(
            request_id=f"rejected-{time.time_ns():x}",
            at=self.at,
            transport=self.transport,
            caller=self.caller,
            client=cleaned(self.client, ()),
            client_version=cleaned(self.client_version, ()),
            operation=NO_OPERATION,
            outcome="error",
            origin=self.origin,
            error_reason=self.reason,
            error_message=cleaned(self.message, (), most=LONGEST_MESSAGE),
            response_bytes=len(self.body),
            original_tokens=size,
            baseline_tokens=size,
            estimated_tokens=size,
            claude_tokens=claude.count(text),
        )

    def after_storing(self) -> None:
        """Does nothing; the recorder calls it on every item."""


class RateLimit:
    """`take` returns True at most `most` times a second."""

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._second, self._taken = 0, 0

    def take(self) -> bool:
        second = int(self._clock())
        if second != self._second:
            self._second, self._taken = second, 0
        self._taken += 1
        return self._taken <= self._most


_allowance = RateLimit(A_SECOND)


def record(error: CallError, visit: Visit, caller: Caller | None = None, program: Program | None = None) -> None:
    """`caller`: None without a valid key. Does not block."""
    counters.REJECTED_CALLS.labels(error.reason, visit.transport).inc()
    if not _allowance.take():
        return
    client, version = (program.name, program.version) if caller and program else ("", "")
    recorder.record(
        RejectedCall(
            time.time(),
            visit.transport,
            caller.name if caller else NO_KEY,
            client if caller else prefix_of(visit.address),
            version,
            error.reason,
            error.message[: 4 * LONGEST_MESSAGE],
            origin_of(error),
            error.body,
        )
    )
