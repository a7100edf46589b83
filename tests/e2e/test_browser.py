"""What people do in a real browser, against a real Sluice: `manage.py serve` with its first start."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests import needs
from tests.e2e.clusters import Admin, seconds_until
from tests.e2e.serving import serving
from tests.patience import PATIENCE

pytestmark = pytest.mark.browser
expect.set_options(timeout=PATIENCE * 1000)

BUDGETS = "/admin/context_protection/tokenbudget/"
CALLS = "/admin/telemetry/telemetryrecord/"
AUDITS = "/admin/telemetry/tokenaudit/"


PHONE_AND_DESK = pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
# Playwright's own list, which a second one replaces, in so far as it changes pages and what the browser asks of the
# network; and the address bar's suggestions: for each window, the browser would draw two pages that nobody sees.
SWITCHED_OFF = """
    HttpsFirstBalancedModeAutoEnable HttpsUpgrades NetworkTimeServiceQuerying OptimizationHints PaintHolding
    PreconnectToSearch ThirdPartyStoragePartitioning
    WebUIOmniboxAimPopup WebUIOmniboxPopup
"""


@dataclass(frozen=True)
class Sluice:
    """A running one, and what its first start printed."""

    address: str
    password: str
    key: str


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sluice]:
    with serving(tmp_path_factory.mktemp("browser"), AUDIT_SHARE="1") as running:
        yield Sluice(running.base, running.password, running.key)


@contextmanager
def launched() -> Iterator[Browser]:
    """While it runs, the thread cannot run asyncio."""
    needs.CHROMIUM.or_skip()
    # The windows, of which each would start a process of its own, share one that draws: a fifth of the browser's time.
    options = ["--disable-gpu", "--renderer-process-limit=1", f"--disable-features={','.join(SWITCHED_OFF.split())}"]
    if os.geteuid() == 0:
        options.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=needs.chromium(), args=options, timeout=PATIENCE * 1000)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@contextmanager
def window(chromium: Browser, sluice: Sluice, **options: object) -> Iterator[tuple[Page, list[str]]]:
    """A window of its own, and what its console complains about."""
    context: BrowserContext = chromium.new_context(base_url=sluice.address, **options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE * 1000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page, complaints
    finally:
        context.close()


def go(page: Page, control: Locator) -> None:
    """Clicks what leads to another page, and waits for it: between two pages there is no document to measure."""
    with page.expect_navigation():
        control.click()


def log_in(page: Page, sluice: Sluice, name: str = "admin") -> None:
    """By the form, to the admin's first page."""
    page.goto("/admin/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(sluice.password)
    go(page, page.get_by_role("button", name="Log in"))


def use_login(page: Page, sluice: Sluice, name: str = "admin") -> None:
    """The window is logged in, by a session that all windows of a person share: each login hashes a million times."""
    page.context.add_cookies([{"name": "sessionid", "value": session(sluice, name), "url": sluice.address}])


@cache
def session(sluice: Sluice, name: str) -> str:
    with httpx2.Client(base_url=sluice.address, timeout=60, trust_env=False) as client:
        Admin(client).log_in(sluice.password, name)
        return client.cookies["sessionid"]


def page_size(page: Page, sluice: Sluice) -> int:
    """What a REST answer obeys right now."""
    answer = page.request.get("/api/v1/bookings", headers={"Authorization": f"Bearer {sluice.key}"})
    document = answer.json()
    assert len(document["items"]) == document["meta"]["pageSize"]
    return int(document["meta"]["pageSize"])


@PHONE_AND_DESK
@pytest.mark.parametrize(("address", "is_staff"), [("/", True), ("/", False), ("/api/docs/", True)])
def test_pages_render_without_a_complaint(
    chromium: Browser, sluice: Sluice, address: str, is_staff: bool, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        if is_staff:
            use_login(page, sluice)
        page.goto(address, wait_until="networkidle")
        expect(page.get_by_role("heading", level=1).or_(page.locator("#swagger-ui h2")).first).to_be_visible()
        shade = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
        assert scheme in shade
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        assert complaints == []


def test_those_unknown_are_led_to_the_login_and_back(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        page.goto("/")
        expect(page.get_by_role("heading", name="Make a key")).to_be_visible()
        expect(page.get_by_role("heading", name="Operations")).to_have_count(0)
        page.get_by_role("main").get_by_role("link", name="Log in", exact=True).click()
        page.get_by_label("Username").fill("admin")
        page.get_by_label("Password").fill(sluice.password)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Operations")).to_be_visible()
        assert page.url == f"{sluice.address}/"
        assert complaints == []


def test_api_docs_show_every_resource(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto("/api/docs/")
        operation = page.locator(".opblock", has_text="/api/v1/bookings/{").first
        operation.get_by_role("button").first.click()
        expect(operation.locator(".opblock-body")).to_be_visible()
        assert complaints == []


def test_a_snippet_is_chosen_and_copied_by_keyboard(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, permissions=["clipboard-read", "clipboard-write"]) as (page, complaints):
        use_login(page, sluice)
        page.goto("/")
        page.get_by_role("tab", name="Claude Code, WebSocket").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Claude Code, HTTP")).to_be_focused()
        snippet = page.get_by_role("tabpanel", name="Claude Code, HTTP")
        expect(snippet).to_be_visible()
        page.keyboard.press("Tab")
        expect(snippet.get_by_role("button", name="Copy")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("status")).to_have_text("Copied to the clipboard.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == snippet.locator("code").text_content()
        assert copied.startswith("claude mcp add-json sluice '{")
        assert f'"url":"{sluice.address}/mcp"' in copied
        assert complaints == []


def test_a_token_budget_applies_to_the_very_next_answer(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{BUDGETS}add/")
        page.locator("[name=operation]").fill("list_bookings")
        page.get_by_label("Default page size").fill("5")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".messagelist .success")).to_be_visible()
        assert page_size(page, sluice) == 5

        page.locator("#result_list").get_by_role("link", name="list_bookings").click()
        page.get_by_label("Default page size").fill("7")
        page.get_by_role("button", name="Save and continue editing").click()
        expect(page.locator(".messagelist .success")).to_be_visible()
        assert page_size(page, sluice) == 7
        expect(page.get_by_role("row", name="defaultPageSize 7 set here")).to_be_visible()

        page.get_by_role("link", name="History").click()
        expect(page.locator("#change-history")).to_contain_text("5 → 7")
        assert complaints == []


def test_a_nonsense_budget_is_refused_with_a_sentence(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{BUDGETS}add/")
        page.locator("[name=operation]").fill("list_transactions")
        page.get_by_label("Token budget threshold").fill("6000")
        page.get_by_label("Hard cap").fill("5000")
        page.get_by_role("button", name="Save", exact=True).click()
        sentence = page.locator(".field-hard_cap .errorlist")
        expect(sentence).to_contain_text("hardCap (5,000) is below tokenBudgetThreshold (6,000)")
        expect(sentence).to_contain_text("Raise hardCap or lower tokenBudgetThreshold.")
        expect(page.get_by_label("Token budget threshold")).to_have_value("6000")
        assert complaints == []


@PHONE_AND_DESK
def test_tools_are_filtered_and_chosen_for_a_key(
    chromium: Browser, sluice: Sluice, tmp_path: Path, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        page.goto("/admin/access/apikey/add/")
        page.get_by_label("Name").fill(f"clerk-{width}")
        page.locator("#id_hidden_tools_input").press_sequentially("get_b")
        offered = page.locator("#id_hidden_tools_from option")
        expect(offered).to_have_text(["get_booking: Get a booking"])
        offered.dblclick()
        expect(page.locator("#id_hidden_tools_to option")).to_have_count(1)
        row = page.locator(".field-hidden_tools")
        label, boxes = row.get_by_text("Hidden tools:", exact=True), row.locator(".selector")
        assert upper_edge(label) < upper_edge(boxes), "what is chosen is said before the boxes"
        page.screenshot(path=tmp_path / f"key-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        page.get_by_role("button", name="Save", exact=True).click()
        told = page.get_by_role("status").filter(has_text="get_booking")
        expect(told).to_contain_text("With get_booking hidden, nothing opens the rows of list_bookings.")
        secret = page.locator(".secret code").inner_text()
        for address, status in (("/api/v1/bookings", 200), ("/api/v1/bookings/43000003", 404)):
            answer = page.request.get(address, headers={"Authorization": f"Bearer {secret}"})
            assert answer.status == status
        assert complaints == []


def upper_edge(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return box["y"]


def test_the_theme_that_is_chosen_holds_on_every_page(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, color_scheme="light") as (page, complaints):
        use_login(page, sluice)
        page.goto("/")
        page.get_by_role("button", name="Toggle theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        page.goto("/api/docs/")
        expect(page.locator("html")).to_have_class(re.compile("dark-mode"))
        page.goto("/admin/login/")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert complaints == []


# -- What operators look at -------------------------------------------------------------------------

BOOKING = "/api/v1/bookings/43000003"  # more than a single record's budget: it comes as a preview


@pytest.fixture(scope="module")
def operated(chromium: Browser, sluice: Sluice) -> Sluice:
    """Ops have chosen summary fields, two of which upstream does not have; calls were made, recorded and audited."""
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{BUDGETS}add/")
        page.locator("[name=operation]").fill("get_booking")
        page.get_by_label("Summary fields").fill("guestName, nights, guestMood, loyalty.tier")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".messagelist .success")).to_be_visible()
        for address in (BOOKING, "/api/v1/bookings", "/api/v1/documents/sync-2026-11.log"):
            assert page.request.get(address, headers={"Authorization": f"Bearer {sluice.key}"}).ok
        seconds_until(lambda: "guestMood" in shown(page, CALLS), PATIENCE)
        seconds_until(lambda: "read_document" in shown(page, AUDITS), PATIENCE)
        assert complaints == []
    return sluice


def shown(page: Page, address: str) -> str:
    page.goto(address)
    return page.locator("#content").inner_text()


def test_summary_fields_apply_and_those_that_upstream_lacks_are_named(chromium: Browser, operated: Sluice) -> None:
    with window(chromium, operated) as (page, complaints):
        preview = page.request.get(BOOKING, headers={"Authorization": f"Bearer {operated.key}"}).json()
        assert {"id", "guestName", "nights"} <= preview["summary"].keys()
        assert not {"guestMood", "checkInDate"} & preview["summary"].keys()
        use_login(page, operated)
        page.goto(CALLS)
        panel = page.get_by_role("status").filter(has_text="Previews name fields")
        expect(panel).to_contain_text("get_booking: guestMood, loyalty.tier")
        assert complaints == []


@PHONE_AND_DESK
@pytest.mark.parametrize(
    ("name", "address", "expected"),
    [
        ("budget", BUDGETS, "summaryFields"),
        ("audits", AUDITS, "read_document"),
        ("calls", CALLS, "Previews name fields"),
    ],
)
def test_pages_of_operators_render_without_a_complaint(
    chromium: Browser, operated: Sluice, tmp_path: Path, name: str, address: str, expected: str, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, operated, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, operated)
        page.goto(address, wait_until="networkidle")
        if name == "budget":
            page.locator("#result_list").get_by_role("link", name="get_booking").click()
            expect(page.get_by_label("Summary fields")).to_have_value("guestName, nights, guestMood, loyalty.tier")
        expect(page.locator("#content")).to_contain_text(expected)
        page.screenshot(path=tmp_path / f"{name}-{width}-{scheme}.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        assert complaints == []
