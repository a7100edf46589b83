"""Checks whether an upstream answers, with one cheap read that no breaker, rate or retry budget counts."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from gateway.upstreams.client import Upstream
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.request import Request

logger = logging.getLogger(__name__)
PATIENCE = 10.0  # seconds
AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Probe:
    """`ask` returns the status of the answer (0: not HTTP), or raises UpstreamError."""

    name: str
    ask: Callable[[], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    at: datetime
    ok: bool
    milliseconds: float
    status: int
    message: str  # why it does not answer; else empty

    def document(self) -> dict[str, Any]:
        return {
            "at": self.at.isoformat(),
            "ok": self.ok,
            "ms": round(self.milliseconds, 1),
            "status": self.status,
            "message": self.message,
        }


Probes = Callable[[], Sequence[Probe]]
_sources: list[Probes] = []
_results: dict[str, ProbeResult] = {}


def probe_also(source: Probes) -> None:
    """Registers the probes of a connector. `source` may block, and is called for each round."""
    _sources.append(source)


def all_probes() -> list[Probe]:
    """The probes of all connectors. Blocks. A connector that cannot prepare its probes, for example because its
    configuration is invalid, does not affect others (law 5)."""
    return [probe for source in _sources for probe in _prepared(source)]


def _prepared(source: Probes) -> Sequence[Probe]:
    try:
        return source()
    except Exception:
        logger.exception("probes could not be prepared")
        return ()


def result_of(name: str) -> ProbeResult | None:
    """The last result in this process."""
    return _results.get(name)


async def run(probes: Iterable[Probe]) -> None:
    """Runs the probes, AT_ONCE at a time, and stores their results: an upstream that fails, or does not answer in time,
    has a result, too. Raises only what `ask` raises against its contract."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(probe: Probe) -> None:
        async with limit:
            _results[probe.name] = await _asked(probe)

    await asyncio.gather(*(one(probe) for probe in probes))


async def _asked(probe: Probe) -> ProbeResult:
    at, began, status, message = datetime.now(UTC), time.perf_counter(), 0, ""
    try:
        async with asyncio.timeout(PATIENCE):
            status = await probe.ask()
    except UpstreamError as error:
        status, message = (error.upstream or {}).get("status", 0), error.message
    except TimeoutError:
        message = f"{probe.name} has not answered within {PATIENCE:g} seconds."
    is_ok = not message or 0 < status < 500
    return ProbeResult(at, is_ok, (time.perf_counter() - began) * 1000, status, "" if is_ok else message)


def http_probe(upstream: Upstream, base_url: str) -> Probe:
    """A GET of the base address. Every status below 500 counts as an answer, because an API may have nothing there."""

    async def ask() -> int:
        return (await upstream.for_probe(PATIENCE).fetch(Request("GET", base_url))).status

    return Probe(upstream.name, ask)
