"""Budgets and the playground in a real browser: what is typed shows its effect, a save is obeyed and undone."""

import re
from collections.abc import Iterator

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests import needs
from tests.e2e.clusters import seconds_until
from tests.e2e.serving import serving
from tests.e2e.test_admin_pages import CUT_OFF, UNNAMED
from tests.e2e.test_browser import PHONE_AND_DESK, Sluice, chromium, go, use_login, window
from tests.e2e.test_telemetry_pages import barriers
from tests.patience import PATIENCE

pytestmark = pytest.mark.browser
__all__ = ["chromium"]

BUDGETS = "/admin/budgets/"
BOOKING = f"{BUDGETS}get_booking/"
PLAYGROUND = "/telemetry/playground/"
PREPARE = """
from django.utils import timezone
from tests.telemetry.examples import a_call, a_summary, stored
at = timezone.now()
stored(*[a_summary(at=at, threshold=2000)] * 120, *[a_call(at=at, operation="get_booking", kind="record")] * 130)
"""


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sluice]:
    with serving(tmp_path_factory.mktemp("budgets")) as running:
        made = running.manage("shell", "-c", PREPARE)
        assert made.returncode == 0, made.stderr
        yield Sluice(running.base, running.password, running.key)


def fits(page: Page, where: str) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{where} sticks out"
    assert page.evaluate(CUT_OFF) == [], where
    assert page.evaluate(UNNAMED) == [], where
    assert barriers(page) == [], where


@PHONE_AND_DESK
def test_every_page_fits_and_names_its_controls(chromium: Browser, sluice: Sluice, width: int, scheme: str) -> None:
    needs.AXE.or_skip()
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        for path in (BUDGETS, BOOKING, f"{BUDGETS}*/", f"{PLAYGROUND}?tool=list_bookings"):
            page.goto(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            fits(page, path)
        page.get_by_label("limit").fill("3")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("heading", name="Without Sluice")).to_be_visible()
        fits(page, "an answer in the playground")
        assert complaints == []


def test_the_effect_follows_what_is_typed_and_nothing_is_saved(chromium: Browser, sluice: Sluice) -> None:
    record_a_call(sluice)
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{BUDGETS}list_bookings/")
        page.get_by_label("Budget", exact=True).fill("300")
        expect(page.locator("#effect")).to_contain_text("would be shorter")
        page.get_by_text("or paste a response").click()
        page.get_by_label("Response, JSON or text").fill('[{"id": 1, "status": "confirmed"}]')
        expect(page.locator("#real")).to_contain_text("From the pasted response.")
        page.goto(f"{BUDGETS}list_bookings/")
        expect(page.get_by_label("Budget", exact=True)).to_have_value("")
        assert complaints == []


def record_a_call(sluice: Sluice) -> None:
    """Makes a call, and waits until it is recorded."""
    headers = {"Authorization": f"Bearer {sluice.key}"}
    with httpx2.Client(base_url=sluice.address, headers=headers, timeout=60, trust_env=False) as client:
        client.get("/api/v1/bookings")
        query = {"range": "1h", "tool": "list_bookings"}
        seconds_until(lambda: bool(client.get("/api/v1/telemetry/records", params=query).json()["records"]), PATIENCE)


def test_a_save_is_obeyed_by_the_next_call_and_undone_without_scripts(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, java_script_enabled=False) as (page, _):
        use_login(page, sluice)
        page.goto(BOOKING)
        page.get_by_label("Budget", exact=True).fill("8000")
        page.get_by_label("Reason").fill("month end needs whole records")
        go(page, page.get_by_role("button", name="Show effect"))
        expect(page.locator("#effect")).to_contain_text("120 of the last 250 calls would be longer")
        go(page, page.get_by_role("button", name="Save: next call obeys"))
        expect(page.get_by_text(re.compile(r"Saved as revision \d+\. In force in 1 of 1 processes"))).to_be_visible()
        assert is_whole(page, sluice)
        go(page, page.get_by_role("button", name="Undo"))
        expect(page.get_by_text("is undone")).to_be_visible()
        assert not is_whole(page, sluice)


def is_whole(page: Page, sluice: Sluice) -> bool:
    """Whether the very next answer has the whole booking."""
    answer = page.request.get("/api/v1/bookings/43000003", headers={"Authorization": f"Bearer {sluice.key}"})
    return bool(answer.json()["meta"]["kind"] == "full")


def test_the_playground_works_without_scripts(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, java_script_enabled=False) as (page, _):
        use_login(page, sluice)
        page.goto(f"{PLAYGROUND}?tool=list_bookings")
        page.get_by_label("limit").fill("3")
        go(page, page.get_by_role("button", name="Run", exact=True))
        expect(page.get_by_role("heading", name="With Sluice")).to_be_visible()
        go(page, page.get_by_role("button", name="Next page"))
        expect(page.get_by_role("region", name="The answer with Sluice")).to_contain_text('"pageSize":3')
