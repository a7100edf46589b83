"""An upstream that a test can spoil, and Upstreams that may call it although it is on this machine."""

import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from typing import Any

import pytest

from gateway.upstreams.client import Timing, Upstream
from gateway.upstreams.errors import UpstreamError
from gateway.upstreams.request import Request
from tests.simulators.bad_upstream import BadUpstream, bad_upstream

Names = dict[str, list[list[str]]]


class Time:
    """A clock that a test sets. Who sleeps by it wakes at once, later."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture
def bad() -> Iterator[BadUpstream]:
    with bad_upstream() as upstream:
        yield upstream


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def acme(bad: BadUpstream, time: Time) -> Callable[..., Upstream]:
    """Makes an Upstream called Acme, which is `bad`."""

    def make(**options: Any) -> Upstream:
        timing = Timing(clock=time, sleep=time.sleep, chance=lambda: 1.0)
        return Upstream("Acme", trusted=frozenset({bad.url}), timing=timing, **options)

    return make


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    """A name server: for each name the addresses of each time it is asked, the last ones again and again."""
    answers: Names = {}
    real = socket.getaddrinfo

    def lookup(host: str | bytes, port: int, *rest: object, **options: object) -> list[object]:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in answers:
            return real(host, port, *rest, **options)  # type: ignore[arg-type,return-value]
        found = answers[name].pop(0) if len(answers[name]) > 1 else answers[name][0]
        return [(_family(address), socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    return answers


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET if ip_address(address).version == 4 else socket.AF_INET6


def get(bad: BadUpstream, path: str, **options: Any) -> Request:
    return Request("GET", f"{bad.url}{path}", **options)


async def failed(upstream: Upstream, request: Request, **options: Any) -> UpstreamError:
    with pytest.raises(UpstreamError) as failure:
        await upstream.fetch(request, **options)
    return failure.value
