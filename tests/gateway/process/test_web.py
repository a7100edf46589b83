"""How the web server is configured."""

import signal
from collections.abc import Iterator
from typing import Any

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


@pytest.mark.usefixtures("own_handler")
def test_proxies_are_believed_only_where_the_settings_say_so(settings: Any):
    settings.FORWARDED_ALLOW_IPS, settings.SECURE_PROXY_SSL_HEADER = ["10.0.0.0/8"], ("HTTP_X_FORWARDED_PROTO", "https")
    configured = web.configured()
    assert (configured.proxy_headers, configured.forwarded_allow_ips) == (True, ["10.0.0.0/8"])
    settings.SECURE_PROXY_SSL_HEADER = None
    assert not web.configured().proxy_headers
