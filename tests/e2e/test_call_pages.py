"""Calls as people see them, in a real browser on a real server: the live tail, one call, a replay; and a secret in the
arguments of failed calls, which nothing shows."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect
from websockets.sync.client import connect

from tests.e2e.clusters import mcp_over_http, mcp_over_websocket, rest, seconds_until
from tests.e2e.serving import Serving, serving
from tests.e2e.test_browser import Sluice, chromium, go, session, use_login, window
from tests.patience import PATIENCE

__all__ = ["chromium"]
pytestmark = pytest.mark.browser

LIVE = "/telemetry/live/"
# Invented, in the form of a real kind of token, and a password that only its name gives away.
TOKEN = "ghp_" + "Rk7Zq2Vw9Xb4Nc6Mt1Lp" + "8Jd3Hf5Gs0Ya"
PASSWORD = "hunter-canary-7c1e"


@dataclass(frozen=True)
class Running:
    serving: Serving
    log: Path

    @property
    def sluice(self) -> Sluice:
        return Sluice(self.serving.base, self.serving.password, self.serving.key)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    log = tmp_path_factory.mktemp("logs") / "log.txt"
    with log.open("wb") as file, serving(tmp_path_factory.mktemp("calls"), log=file.fileno()) as started:
        with rest(started.base, started.key) as call:
            call("list_bookings", {"limit": 3})
            call("get_booking", {"id": 1})
        yield Running(started, log)


def read_records(running: Running, **query: str) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {running.serving.key}"}
    address = f"{running.serving.base}/api/v1/telemetry/records"
    found: list[dict[str, Any]] = httpx2.get(
        address, params={"range": "1h", **query}, headers=headers, timeout=PATIENCE
    ).json()["records"]
    return found


def count_calls(running: Running) -> int:
    headers = {"Authorization": f"Bearer {running.serving.key}"}
    address = f"{running.serving.base}/api/v1/telemetry/summary?range=1h"
    return int(httpx2.get(address, headers=headers, trust_env=False, timeout=PATIENCE).json()["figures"]["calls"])


# -- Secrets ----------------------------------------------------------------------------------------


def fail_with_secrets(running: Running) -> int:
    """Over every transport that a client of the network has. Returns how many calls failed."""
    failed = 0
    with ExitStack() as stack:
        for transport in (rest, mcp_over_http, mcp_over_websocket):
            call = stack.enter_context(transport(running.serving.base, running.serving.key))
            for arguments in (
                {"id": TOKEN},
                {"id": 1, "password": PASSWORD},
                {"id": 1, "fields": f"https://x.example/?access_token={TOKEN}"},
                {"id": 1, TOKEN: 1},
            ):
                failed += "error" in call("get_booking", arguments)
    return failed


def test_a_secret_in_the_arguments_of_a_failed_call_is_shown_nowhere(running: Running) -> None:
    base = running.serving.base
    cookie = {"Cookie": f"sessionid={session(running.sluice, 'admin')}"}
    address = f"{base.replace('http', 'ws', 1)}{LIVE}socket?outcome=error"
    with connect(address, additional_headers=cookie, origin=base, proxy=None) as socket:
        failed = fail_with_secrets(running)
        assert failed >= 9
        seen, frames, deadline = 0, "", time.monotonic() + PATIENCE
        while seen < failed:
            assert time.monotonic() < deadline, f"the live tail showed {seen} of {failed} calls"
            frame = socket.recv(timeout=PATIENCE)
            seen += json.loads(frame)["count"]
            frames += str(frame)
    assert "get_booking" in frames
    shown = {"the live socket": frames}
    seconds_until(lambda: len(read_records(running, outcome="error")) >= failed, PATIENCE)
    records = read_records(running, outcome="error")
    pages = ["calls/", "live/", "live/calls/?after=0", "calls/?export=csv", "calls/?export=json", "?range=1h"]
    pages += [f"search/?q={records[0]['requestId']}", "tools/get_booking/", "callers/first-key/", "alerts/history.csv"]
    pages += [f"calls/{each['requestId']}/" for each in records]
    with httpx2.Client(base_url=base, headers=cookie, timeout=60, trust_env=False, follow_redirects=True) as staff:
        calls = [f"/telemetry/calls/{each['requestId']}/" for each in records]
        # The arguments are stored after their calls.
        seconds_until(lambda: all("not stored yet" not in staff.get(call).text for call in calls), PATIENCE)
        for page in pages:
            answer = staff.get(f"/telemetry/{page}")
            assert answer.status_code == 200, page
            shown[page] = answer.text
    assert any("•••• hidden" in text for text in shown.values()), "the arguments are kept, and masked"
    shown["/api/v1/telemetry/records"] = json.dumps(read_records(running))
    shown["the log"] = running.log.read_text(errors="replace")
    assert "exchange" in shown["the log"] or "answer" in shown["the log"], "there is a log"
    folder = Path(running.serving.environment["DATA_DIR"])
    shown |= {each.name: each.read_bytes().decode("latin-1") for each in folder.rglob("*") if each.is_file()}
    for where, text in shown.items():
        assert TOKEN not in text, where
        assert PASSWORD not in text, where


# -- The live tail ----------------------------------------------------------------------------------


# As behind a proxy that lets no socket through.
NO_SOCKET = """
WebSocket = class extends EventTarget {
    constructor() {
        super();
        setTimeout(() => this.dispatchEvent(new CloseEvent("close", { code: 1006 })));
    }
    close() {}
};
"""


def test_a_call_opens_beside_the_tail_which_pauses(chromium: Browser, running: Running) -> None:
    with window(chromium, running.sluice) as (page, complaints):
        use_login(page, running.sluice)
        page.goto(LIVE)
        expect(page.locator("[data-tail-state]")).to_contain_text("Connected")
        link = page.locator("[data-calls] th a").first
        link.click()
        sheet = page.locator("[data-sheet]")
        expect(sheet.get_by_role("heading", name="Timeline")).to_be_visible()
        expect(page.locator("[data-tail-news]")).to_contain_text("Paused.")
        page.keyboard.press("Escape")
        expect(sheet).to_be_hidden()
        expect(link).to_be_focused()
        with rest(running.serving.base, running.serving.key) as call:
            call("get_listing", {"id": 1})
        expect(page.locator("[data-tail-news]")).to_contain_text("1 new call.")
        page.get_by_role("button", name="Show them").click()
        expect(page.locator("[data-calls] tr").first).to_contain_text("get_listing")
        assert complaints == []


def test_the_tail_polls_where_no_socket_opens(chromium: Browser, running: Running) -> None:
    with window(chromium, running.sluice) as (page, _):
        page.add_init_script(NO_SOCKET)
        use_login(page, running.sluice)
        page.goto(LIVE)
        expect(page.locator("[data-tail-state]")).to_contain_text("Polling every 2 s")
        with rest(running.serving.base, running.serving.key) as call:
            call("list_documents", {})
        expect(page.locator("[data-calls] tr").first).to_contain_text("list_documents")


def test_a_call_that_is_known_late_stands_where_its_time_is(chromium: Browser, running: Running) -> None:
    """A poll brings calls that are older than what the socket has shown meanwhile."""

    def row(second: int) -> dict[str, str]:
        empty = dict.fromkeys(("time", "word", "result", "origin", "took", "tokens", "key", "client"), "")
        at = f"2099-01-01T00:00:0{second}+00:00"
        return {**empty, "request_id": f"{second}", "at": at, "tool": f"call_{second}", "state": "ok", "link": LIVE}

    answers = iter([[row(2)], [row(3), row(1)]])
    with window(chromium, running.sluice) as (page, _):
        page.add_init_script(NO_SOCKET)
        use_login(page, running.sluice)
        polled = {"count": 0, "last": 0}
        page.route("**/live/calls/**", lambda route: route.fulfill(json={**polled, "rows": next(answers, [])}))
        page.goto(LIVE)
        newest = page.locator("[data-calls] tr:nth-child(-n+3) td.tool")
        expect(newest).to_have_text(["call_3", "call_2", "call_1"])


# -- Replay -----------------------------------------------------------------------------------------


def test_a_replay_in_the_browser_is_recorded_as_one(chromium: Browser, running: Running) -> None:
    with rest(running.serving.base, running.serving.key) as call:
        call("get_transaction", {"id": 999_999_999})
    seconds_until(lambda: len(read_records(running, tool="get_transaction")) == 1, PATIENCE)
    found = read_records(running, tool="get_transaction")[0]
    before = count_calls(running)
    with window(chromium, running.sluice) as (page, complaints):
        use_login(page, running.sluice)
        page.goto(f"/telemetry/calls/{found['requestId']}/")
        page.get_by_text("Replay…").click()
        go(page, page.get_by_role("button", name="Run it once"))
        expect(page.get_by_role("heading", name="The answer now")).to_be_visible()
        expect(page.locator("#replayed")).to_contain_text(re.compile("Now it failed: .* tokens"))
        assert complaints == []
    seconds_until(lambda: len(read_records(running, transport="replay")) == 1, PATIENCE)
    assert count_calls(running) == before, "no figure counts it"
