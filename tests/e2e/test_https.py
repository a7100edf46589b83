"""SECURE_COOKIES: a server behind https answers nothing of value without it."""

import os
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
import websockets

from tests.e2e import forks
from tests.e2e.serving import Serving, serving, websocket_to
from tests.patience import PATIENCE

SECURE = {"X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("https"), SECURE_COOKIES="true", BEHIND_PROXY="true") as running:
        yield running


def key(sluice: Serving) -> dict[str, str]:
    return {"Authorization": f"Bearer {sluice.key}"}


@pytest.mark.parametrize("address", ["/", "/admin/", "/health", "/api/docs/", "/api/v1/bookings?limit=1"])
def test_plain_http_is_redirected(sluice: Serving, address: str):
    answer = httpx2.get(sluice.base + address, headers=key(sluice), timeout=PATIENCE)
    assert answer.status_code == 301
    assert answer.headers["location"] == sluice.base.replace("http:", "https:") + address


def test_https_is_answered_and_browsers_keep_to_it(sluice: Serving):
    for address in ("/", "/api/v1/bookings?limit=1"):
        answer = httpx2.get(sluice.base + address, headers={**key(sluice), **SECURE}, timeout=PATIENCE)
        assert answer.status_code == 200
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
    login = httpx2.get(f"{sluice.base}/admin/login/", headers=SECURE, timeout=PATIENCE)
    assert "Secure" in login.headers["set-cookie"]


@pytest.mark.parametrize("address", ["/mcp", "/mcp/sse", "/mcp/sse/messages"])
def test_mcp_over_plain_http_is_refused_before_its_key_is_looked_at(sluice: Serving, address: str):
    for headers in (key(sluice), {"Authorization": "Bearer nobodys"}, {}):
        answer = httpx2.post(sluice.base + address, json={}, headers=headers, timeout=PATIENCE)
        error = answer.json()["error"]
        assert (answer.status_code, error["reason"]) == (403, "https_required")
        assert "BEHIND_PROXY=true" in error["data"]["suggestion"]


def test_mcp_over_https_is_answered(sluice: Serving):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    for said in ("https", "https, http"):
        headers = {**key(sluice), **accept, "X-Forwarded-Proto": said}
        answer = httpx2.post(f"{sluice.base}/mcp", json=ping, headers=headers, timeout=PATIENCE)
        assert (answer.status_code, answer.json()["result"]) == (200, {}), said


@pytest.mark.parametrize(("said", "status"), [(None, 403), ("http", 403), ("ws", 403), ("https", 101), ("wss", 101)])
def test_a_socket_needs_encryption(sluice: Serving, said: str | None, status: int):
    async def connected() -> int:
        headers = {**key(sluice), **({"X-Forwarded-Proto": said} if said else {})}
        try:
            async with websocket_to(sluice.websocket, additional_headers=headers, subprotocols=["mcp"]):  # type: ignore[list-item]
                return 101
        except websockets.InvalidStatus as refused:
            return int(refused.response.status_code)

    assert anyio.run(connected) == status


def test_what_watches_the_process_is_answered_without(sluice: Serving):
    for address in ("/healthz", "/readyz", "/metrics"):
        assert httpx2.get(sluice.base + address, headers=key(sluice), timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("proxy", ["true", "false"])
def test_djangos_own_checks_for_deployment_find_nothing(tmp_path: Path, proxy: str):
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "SECURE_COOKIES": "true"}
    command = ["check", "--deploy", "--fail-level", "WARNING"]
    done = forks.run(command, {**environment, "BEHIND_PROXY": proxy}, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


def test_without_a_proxy_the_start_says_what_is_missing(tmp_path: Path):
    with (tmp_path / "log").open("wb") as log, serving(tmp_path / "data", log=log.fileno(), SECURE_COOKIES="true"):
        assert "BEHIND_PROXY is not" in (tmp_path / "log").read_text()
