"""The eight questions of somebody on call, answered by a few clicks in a real browser. All figures are counted again by
SQL over the records."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.clusters import admin, seconds_until
from tests.e2e.serving import Serving, serving
from tests.e2e.test_browser import Sluice, chromium, go, use_login, window
from tests.e2e.test_failing_upstreams import imported
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import BadUpstream, bad_upstream

__all__ = ["chromium"]
pytestmark = pytest.mark.browser

MOST_CLICKS = 3
PERCENTILE_ERROR = 0.022  # of a histogram's bucket
NEW_BUDGET = 3500
FAILURES = 24
UNITS = {"ms": 1, "s": 1000}


@dataclass(frozen=True)
class Story:
    """A server on which a budget was changed and acme died."""

    serving: Serving

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        path = Path(self.serving.environment["DATA_DIR"]) / "sluice.sqlite3"
        with closing(sqlite3.connect(path, timeout=PATIENCE)) as database:
            return database.execute(query, values).fetchall()

    def number(self, expression: str, condition: str = "true") -> Any:
        query = f"SELECT {expression} FROM telemetry_telemetryrecord WHERE {condition}"  # noqa: S608 (the tests' own)
        return self.rows(query)[0][0]

    def percentile(self, percent: int) -> float:
        """The nearest-rank percentile of the calls' times in ms."""
        rank = -(-self.number("COUNT(*)") * percent // 100)
        ordered = self.rows("SELECT latency_ms FROM telemetry_telemetryrecord ORDER BY latency_ms")
        return float(ordered[rank - 1][0])


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with (
        bad_upstream() as acme,
        serving(tmp_path_factory.mktemp("questions"), ALLOW_PRIVATE_UPSTREAMS="true") as running,
    ):
        happens(running, acme)
        yield Story(running)


def happens(running: Serving, acme: BadUpstream) -> None:
    acme.body, acme.mode = json.dumps([{"id": 1, "name": "one"}]).encode(), "given"
    imported(running, acme=f"{acme.url}/rows")
    story, sent = Story(running), 0
    headers = {"Authorization": f"Bearer {running.key}", "User-Agent": "nightly-job/1.0"}
    with httpx2.Client(base_url=running.base, headers=headers, timeout=60, trust_env=False) as client:

        def call_acme() -> int:
            nonlocal sent
            sent += 1
            return client.post("/api/v1/tools/acme_rows", json={"query": f"A-{sent}"}).status_code

        seconds_until(lambda: call_acme() == 200, PATIENCE)
        for n in range(1, 13):
            sent += 1
            assert client.get("/api/v1/bookings", params={"limit": n}).is_success
        with admin(running.base, running.password) as ops:
            ops.set_budget("list_bookings", token_budget_threshold=NEW_BUDGET)
        acme.mode = "down"
        for _ in range(FAILURES):
            assert call_acme() >= 500
        seconds_until(lambda: story.number("COUNT(*)") == sent, PATIENCE)


@dataclass
class Walk:
    """One question, from the page Now on."""

    page: Page
    clicks: int = 0

    def click(self, control: Locator) -> None:
        self.clicks += 1
        assert self.clicks <= MOST_CLICKS
        go(self.page, control)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text().replace("\u00a0", " ")

    def cells(self, table: str, row: int = 0) -> list[str]:
        rows = self.page.locator(f"#table-{table} tbody tr")
        return [text.replace("\u00a0", " ").strip() for text in rows.nth(row).locator("th, td").all_inner_texts()]


@pytest.fixture
def walk(chromium: Browser, story: Story) -> Iterator[Walk]:
    running = story.serving
    sluice = Sluice(running.base, running.password, running.key)
    with window(chromium, sluice, timezone_id="UTC") as (page, complaints):
        use_login(page, sluice)
        page.goto("/telemetry/?range=1h&refresh=0")
        expect(page).to_have_title(re.compile("acme down"))
        yield Walk(page)
        assert complaints == []


def test_is_it_up(walk: Walk, story: Story) -> None:
    failed, calls = story.number("COUNT(*)", "outcome = 'error'"), story.number("COUNT(*)")
    assert f"{failed} of {calls} calls failed in the last hour ({100 * failed / calls:.1f}%)" in walk.text(".sentence")
    assert walk.page.locator('[data-light="acme"]').get_attribute("data-state") == "Down"


def test_whose_fault_is_it(walk: Walk, story: Story) -> None:
    of_acme = story.number("COUNT(*)", "origin = 'upstream' AND upstream = 'acme'")
    assert f"{of_acme} of them because of acme" in walk.text(".sentence")
    shown = dict(re.findall(r"(\w+)\s+(\d+)", walk.text("#origins .legend")))
    for origin in ("upstream", "sluice", "caller", "policy"):
        counted = story.number("COUNT(*)", f"origin = '{origin}'")
        assert int(next(count for name, count in shown.items() if name.lower() == origin)) == counted


def test_which_tool_is_it(walk: Walk, story: Story) -> None:
    tool, calls, failed = story.rows(
        "SELECT operation, COUNT(*), SUM(outcome = 'error') FROM telemetry_telemetryrecord GROUP BY 1 ORDER BY 3 DESC"
    )[0]
    name, shown_calls, shown_failed, *_ = walk.cells("tools")
    assert (name, int(shown_calls)) == (tool, calls)
    assert shown_failed == f"{failed} ({100 * failed / calls:.1f}%)"
    walk.click(walk.page.locator("#table-tools").get_by_role("link", name=tool, exact=True))
    reason, count = story.rows(
        "SELECT error_reason, COUNT(*) FROM telemetry_telemetryrecord "
        "WHERE operation = ? AND outcome = 'error' GROUP BY 1 ORDER BY 2 DESC",
        tool,
    )[0]
    shown = walk.cells("reasons")
    assert shown[0] == reason
    assert str(count) in shown


def test_since_when_is_it(walk: Walk, story: Story) -> None:
    first = story.number("MIN(created_at)", "upstream = 'acme' AND outcome = 'error'")
    assert walk.cells("tools")[4] == first[11:16]
    assert re.search(r"acme is down since \d\d:\d\d", walk.text(".sentence"))


def test_which_change_was_before_it(walk: Walk) -> None:
    change = walk.page.locator(".shortly-before a", has_text="list_bookings")
    walk.click(change.first)
    expect(walk.page.locator("main")).to_contain_text(str(NEW_BUDGET))


def test_which_client_is_it(walk: Walk, story: Story) -> None:
    key, client, calls, failed = story.rows(
        "SELECT caller, client, COUNT(*), SUM(outcome = 'error') FROM telemetry_telemetryrecord "
        "GROUP BY 1, 2 ORDER BY 4 DESC"
    )[0]
    shown = walk.cells("callers")
    assert shown == [key, client, str(calls), f"{failed} ({100 * failed / calls:.1f}%)"]
    walk.click(walk.page.locator("#table-callers").get_by_role("link", name=key, exact=True))
    assert walk.cells("clients")[0].startswith(client)


def test_how_much_context_was_saved(walk: Walk, story: Story) -> None:
    walk.click(walk.page.locator(".side").get_by_role("link", name="Overview"))
    tiles = {
        tile.locator("dt").inner_text(): tile.locator("dd.value").text_content() or ""
        for tile in walk.page.locator(".tile").all()
    }
    notes = walk.text(".tiles")
    sent, uncounted, counted = (
        story.number(f"SUM({tokens})", condition)
        for tokens, condition in (
            ("claude_tokens", "true"),
            ("estimated_tokens", "claude_tokens = 0"),
            ("estimated_tokens", "claude_tokens > 0"),
        )
    )
    sent_tokens = int(sent + (uncounted or 0) * sent / counted)
    saved = int(story.number("SUM(baseline_tokens)") * sent / counted) - sent_tokens
    assert tiles["Calls"].endswith(f"{story.number('COUNT(*)'):,}")
    assert tiles["Tokens sent"].endswith(f"{sent_tokens:,}")
    assert tiles["Saved, net"].replace("−", "-").endswith(f"{saved:,}")
    assert is_near(tiles["Time, p95"], story.percentile(95))
    p50, p99 = re.findall(r"p50 (.+?), p99 (.+)", notes)[0]
    assert is_near(p50, story.percentile(50))
    assert is_near(p99, story.percentile(99))


def is_near(shown: str, exact: float) -> bool:
    """Whether 41 ms or 1.24 s is the exact time as histograms know it, rounded to the digits that are shown."""
    number, unit = shown.replace("\u00a0", " ").split()
    last_digit = 10 ** -len(number.partition(".")[2])
    return abs(float(number) * UNITS[unit] - exact) <= PERCENTILE_ERROR * exact + last_digit * UNITS[unit] / 2


def test_what_was_in_the_failing_call(walk: Walk, story: Story) -> None:
    newest = (
        "SELECT request_id FROM telemetry_telemetryrecord WHERE outcome = 'error' ORDER BY created_at DESC, id DESC"
    )
    identifier = story.rows(newest)[0][0]
    walk.click(walk.page.locator("#table-failed tbody tr").first.get_by_role("link").first)
    expect(walk.page.locator(".call-line")).to_contain_text(identifier)
    assert re.search(r'query\s+"A-\d+"', walk.text(".arguments"))
    assert '"error"' in walk.text("main")
