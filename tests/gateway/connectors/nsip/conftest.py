"""NSIP's operations as a caller has them, against the simulator."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from context_protection.core.payloads import Envelope
from gateway.access.callers import caller_of_key
from gateway.catalog.caller import Caller
from gateway.connectors.nsip.client import Nsip
from gateway.connectors.nsip.operations import operations
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve
from gateway.threads import bridge
from tests.gateway.connectors.nsip.fetching import PlainFetching
from tests.offers import in_place
from tests.simulators.nsip import NsipSimulator, nsip_simulator


@pytest.fixture
def nsip() -> Iterator[NsipSimulator]:
    with nsip_simulator() as simulator:
        yield simulator


@dataclass
class Desk:
    nsip: NsipSimulator
    caller: Caller

    async def envelope(self, operation: str, **arguments: Any) -> Envelope:
        """Raises CallError."""
        return await serve(Call(operation, arguments, self.caller, "test", hints.mcp))

    async def __call__(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """The body of an answer. Raises CallError."""
        document: dict[str, Any] = json.loads((await self.envelope(operation, **arguments)).body)
        return document


@pytest.fixture
def desk(nsip: NsipSimulator, api_key: str) -> Iterator[Desk]:
    """The nine operations, which ask the simulator and keep no answer."""
    offered = operations(Nsip(PlainFetching(), nsip.url, lambda method: 0.0))
    with in_place(offered):
        token = bridge.on_callers_thread.set(True)
        yield Desk(nsip, caller_of_key(api_key))
        bridge.on_callers_thread.reset(token)
