"""Logins of a running Sluice: guesses in parallel, behind a proxy or not, and whoever leaves before the answer."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.e2e.forks import ROUNDS_AS_SHIPPED
from tests.e2e.serving import Serving, serving
from tests.tls import TLS

LOGIN = "/admin/login/"
PARALLEL = 30
THREADS = 16  # of the server, for what blocks
WRONG = "not-my-password"


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("logins"), **{ROUNDS_AS_SHIPPED: "true"}) as running:
        yield running


async def guess(sluice: Serving, name: str, password: str = WRONG, **headers: str) -> httpx2.Response:
    """With a form that its own page has given, as a browser sends it."""
    sent = {each.replace("_", "-"): value for each, value in headers.items()}
    async with httpx2.AsyncClient(base_url=sluice.base, headers=sent, timeout=60, verify=TLS) as client:
        await client.get(LOGIN)
        body = {"username": name, "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        return await client.post(LOGIN, data=body)


async def guesses(sluice: Serving, name: str, count: int, **headers: str) -> list[httpx2.Response]:
    return await asyncio.gather(*(guess(sluice, name, **headers) for _ in range(count)))


async def test_of_thirty_guesses_in_parallel_five_are_tried(sluice: Serving):
    responses = await guesses(sluice, "parallel", PARALLEL)
    statuses = [each.status_code for each in responses]
    assert statuses.count(200) == 5
    # One that has waited too long for its turn, on a busy machine, is told to come back.
    assert statuses.count(429) + statuses.count(503) == PARALLEL - 5
    assert all(0 < int(each.headers["retry-after"]) <= 900 for each in responses if each.status_code != 200)


async def test_an_address_that_a_client_claims_is_no_other_address(sluice: Serving):
    for number in range(5):
        assert (await guess(sluice, "claimed", x_forwarded_for=f"198.51.100.{number}")).status_code == 200
    assert (await guess(sluice, "claimed", x_forwarded_for="198.51.100.77")).status_code == 429


async def test_behind_a_proxy_its_word_counts_and_not_the_clients(tmp_path: Path):
    with serving(tmp_path, BEHIND_PROXY="true") as sluice:
        for number in range(5):  # the proxy appends what it has seen to what the client has claimed
            forwarded = f"198.51.100.{number}, 192.0.2.1"
            assert (await guess(sluice, "admin", x_forwarded_for=forwarded)).status_code == 200
        assert (await guess(sluice, "admin", sluice.password, x_forwarded_for="192.0.2.1")).status_code == 429
        assert (await guess(sluice, "admin", sluice.password, x_forwarded_for="192.0.2.2")).status_code == 302
        sluice.manage("unlock_login", "admin").check_returncode()
        assert (await guess(sluice, "admin", sluice.password, x_forwarded_for="192.0.2.1")).status_code == 302


async def test_rest_answers_while_logins_wait(sluice: Serving):
    """All threads would be hashing, were they let."""
    waiting = [asyncio.create_task(guess(sluice, f"busy-{number}")) for number in range(THREADS + 2)]
    headers = {"Authorization": f"Bearer {sluice.key}"}
    async with httpx2.AsyncClient(base_url=sluice.base, headers=headers, timeout=60, trust_env=False) as client:
        answered = 0
        while not all(each.done() for each in waiting):
            response = await client.get("/api/v1/bookings", params={"limit": "1"})
            assert response.status_code == 200
            answered += 1
    assert answered > len(waiting)
    assert {each.result().status_code for each in waiting} <= {200, 503}
