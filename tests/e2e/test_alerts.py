"""Alerts of a running Sluice, raised by real calls and by its own beat: too many oversized answers, a dead upstream."""

import json
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from tests.e2e.clusters import seconds_until
from tests.e2e.serving import Serving, serving
from tests.e2e.test_failing_upstreams import imported
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import BadUpstream, bad_upstream

BEATS = 2 * PATIENCE  # seconds for a few checks of alerts, which are 15 s apart
# Whoever waits in a test for the rule's own minute of recovery learns no more.
AT_ONCE = "from telemetry.models import AlertRule; AlertRule.objects.update(recovery_seconds=0)"
BOOKING = 43000001  # it is over its budget


@pytest.fixture(scope="module")
def upstream() -> Iterator[BadUpstream]:
    with bad_upstream() as running:
        running.body = json.dumps([{"id": 1, "name": "one"}]).encode()
        running.mode = "given"
        yield running


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory, upstream: BadUpstream) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("alerts"), ALLOW_PRIVATE_UPSTREAMS="true") as running:
        imported(running, acme=f"{upstream.url}/rows")
        assert running.manage("shell", "-c", AT_ONCE).returncode == 0
        yield running


@pytest.fixture
def client(sluice: Serving) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"Bearer {sluice.key}"}
    with httpx2.Client(base_url=sluice.base, headers=headers, timeout=PATIENCE, trust_env=False) as client:
        yield client


@pytest.fixture
def browser(sluice: Serving) -> Iterator[httpx2.Client]:
    """Logged in."""
    with httpx2.Client(base_url=sluice.base, timeout=PATIENCE, trust_env=False, follow_redirects=True) as client:
        client.get("/admin/login/")
        body = {"username": "admin", "password": sluice.password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        assert client.post("/admin/login/?next=/telemetry/", data=body, headers={"Referer": sluice.base}).is_success
        yield client


def call_acme(client: httpx2.Client, number: float) -> int:
    """A call that no other one equals, so that it is not answered from the cache."""
    return client.post("/api/v1/tools/acme_rows", json={"query": f"{number}"}).status_code


def episodes(sluice: Serving, rule: str) -> list[tuple[str, str, bool, bool]]:
    """The alerts of a shipped rule that have fired: subject, message, whether it fires now, and whether it is over."""
    with closing(
        sqlite3.connect(Path(sluice.environment["DATA_DIR"]) / "sluice.sqlite3", timeout=PATIENCE)
    ) as database:
        rows = database.execute(
            "SELECT subject, message, state = 'alerting', ended_at IS NOT NULL FROM telemetry_alert "
            "WHERE fired_at IS NOT NULL AND rule_id = (SELECT id FROM telemetry_alertrule WHERE shipped_as = ?)",
            [rule],
        ).fetchall()
    return [(subject, message, bool(fires), bool(is_over)) for subject, message, fires, is_over in rows]


def test_six_oversized_of_a_hundred_calls_raise_one_alert_and_it_recovers(sluice: Serving, client: httpx2.Client):
    def small(count: int) -> None:
        for n in range(count):
            assert client.get(f"/api/v1/{('bookings', 'listings')[n % 2]}", params={"limit": 3}).is_success

    small(94)
    for _ in range(6):
        assert client.get(f"/api/v1/bookings/{BOOKING}").is_success
    told = "6% of answers were over budget (limit 5%): get_booking 6 of 100 calls"
    seconds_until(lambda: any(told in message for _, message, *_ in episodes(sluice, "oversized_share")), BEATS)
    ((subject, _, fires, _),) = episodes(sluice, "oversized_share")
    assert (subject, fires) == ("", True)
    small(60)  # so that 6 of 160 are left, 3.75%
    seconds_until(lambda: episodes(sluice, "oversized_share")[0][3], BEATS)
    assert len(episodes(sluice, "oversized_share")) == 1


def test_an_upstream_that_dies_is_a_red_light_and_an_alert(
    sluice: Serving, client: httpx2.Client, browser: httpx2.Client, upstream: BadUpstream
):
    seconds_until(lambda: call_acme(client, time.time()) == 200, BEATS)  # once another process's import is known
    assert "acme down" not in title(browser)
    upstream.mode, numbers = "down", iter(range(1000))

    def is_red() -> bool:
        call_acme(client, next(numbers))
        return "acme down" in title(browser)

    seconds_until(is_red, BEATS)
    seconds_until(lambda: any(fires for _, _, fires, _ in episodes(sluice, "upstream_down")), BEATS)
    ((subject, message, _, _),) = episodes(sluice, "upstream_down")
    assert subject == "acme"
    assert message.startswith("acme is down: its breaker is open")


def title(browser: httpx2.Client) -> str:
    return re.findall(r"<title>([^<]*)</title>", browser.get("/telemetry/").text)[0]
