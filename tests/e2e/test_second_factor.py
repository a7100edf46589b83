"""The second factor as people meet it: set up because the server requires it, used, recovered and switched off."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests import authenticator
from tests.e2e.serving import Serving, serving
from tests.e2e.test_browser import PHONE_AND_DESK, Sluice, chromium, go, log_in, window

pytestmark = pytest.mark.browser
__all__ = ["chromium"]


@pytest.fixture
def sluice(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path, REQUIRE_SECOND_FACTOR="true") as running:
        yield running


class App:
    """An authenticator app: it shows a code that it has not shown before."""

    def __init__(self, secret: str) -> None:
        self.secret, self.shown = secret, int(time.time()) // authenticator.STEP_SECONDS - 2

    def code(self) -> str:
        """Ours may be half a minute ahead, so that nobody waits for three codes in a row."""
        now = int(time.time()) // authenticator.STEP_SECONDS
        self.shown = max(self.shown + 1, now - 1)
        assert self.shown <= now + 1, "the test uses more codes than there are"
        return authenticator.code_at(self.secret, self.shown * authenticator.STEP_SECONDS)


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def enter(page: Page, label: str, code: str, button: str) -> None:
    page.get_by_label(label).fill(code)
    go(page, page.get_by_role("button", name=button))


def test_a_newcomer_sets_it_up_and_lives_with_it(chromium: Browser, sluice: Serving) -> None:
    server = Sluice(sluice.base, sluice.password, sluice.key)
    with window(chromium, server, permissions=["clipboard-read", "clipboard-write"]) as (page, complaints):
        log_in(page, server)
        expect(page.get_by_text("This server requires a second factor.")).to_be_visible()
        page.goto("/admin/telemetry/telemetryrecord/")
        expect(page.get_by_role("img", name="QR code for the app").or_(page.locator(".qr svg")).first).to_be_visible()
        app = App(page.locator(".secret code").inner_text().replace(" ", ""))
        enter(page, "Code from your app", app.code(), "Switch on")

        expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
        codes = page.locator(".codes code").all_inner_texts()
        assert len(codes) == 10
        page.get_by_role("button", name="Copy").click()
        expect(page.get_by_role("status")).to_have_text("Copied to the clipboard.")
        assert page.evaluate("navigator.clipboard.readText()").split() == codes
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        assert Path(download.value.path()).read_text().split() == codes
        page.get_by_role("link", name="Continue").click()
        page.wait_for_url("**/admin/telemetry/telemetryrecord/")
        go(page, page.get_by_role("button", name="Log out"))

        log_in(page, server)
        expect(page.get_by_label("Code from your app")).to_be_focused()
        enter(page, "Code from your app", app.code(), "Log in")
        page.get_by_role("link", name="Two-factor authentication").click()
        expect(page.get_by_text("10 recovery codes left")).to_be_visible()
        enter(page, "Code from your app", app.code(), "Switch off")
        expect(page.get_by_text("The second factor is switched off.")).to_be_visible()
        assert complaints == []


@PHONE_AND_DESK
def test_its_pages_fit_and_complain_of_nothing(
    chromium: Browser,
    sluice: Serving,
    width: int,
    scheme: str,
) -> None:
    server = Sluice(sluice.base, sluice.password, sluice.key)
    size = {"width": width, "height": 900}
    with window(chromium, server, viewport=size, color_scheme=scheme) as (page, complaints):
        log_in(page, server)
        assert fits(page)
        app = App(page.locator(".secret code").inner_text().replace(" ", ""))
        enter(page, "Code from your app", app.code(), "Switch on")
        assert fits(page)
        code = page.locator(".codes code").first.inner_text()
        go(page, page.get_by_role("link", name="Continue"))
        page.goto("/admin/second-factor/")
        assert fits(page)
        go(page, page.get_by_role("button", name="Log out"))

        log_in(page, server)
        assert fits(page)
        go(page, page.get_by_role("link", name="Use a recovery code"))
        enter(page, "Recovery code", "AAAA-BBBB-CCCC-DDDD", "Log in")
        expect(page.get_by_text("not one of your recovery codes")).to_be_visible()
        assert fits(page)
        enter(page, "Recovery code", code, "Log in")
        expect(page.get_by_text("9 recovery codes are left.")).to_be_visible()
        assert complaints == []
