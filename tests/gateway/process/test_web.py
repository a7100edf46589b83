"""How the web server is configured."""

import signal
from collections.abc import Iterator

import httpx2
import pytest

from gateway.process import web

LOAD_BALANCERS = 60  # seconds for which nginx and the load balancers of clouds keep idle connections


@pytest.fixture
def own_handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.usefixtures("own_handler")
def test_an_idle_connection_stays_open_for_longer_than_clients_and_proxies_use_it():
    kept = web.configured().timeout_keep_alive
    assert kept > LOAD_BALANCERS
    assert kept > (httpx2.Limits().keepalive_expiry or 0)
