"""The pages at /telemetry/ in a real browser: barriers, keys, charts, refresh, and without scripts."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests import needs
from tests.e2e.clusters import seconds_until
from tests.e2e.serving import serving
from tests.e2e.test_browser import PHONE_AND_DESK, Sluice, chromium, use_login, window
from tests.patience import PATIENCE

__all__ = ["chromium"]
pytestmark = pytest.mark.browser

OVERVIEW = "/telemetry/overview/"
CALLS = 24
NOW = "/telemetry/"
PAGES = (
    NOW,
    OVERVIEW,
    f"{OVERVIEW}?tool=nosuch",
    "/telemetry/tools/",
    "/telemetry/tools/list_bookings/",
    "/telemetry/callers/",
    "/telemetry/callers/first-key/",
    "/telemetry/upstreams/",
    "/telemetry/search/?q=book",
    "/telemetry/calls/",
    "/telemetry/live/",
    "/telemetry/accuracy/",
    "/telemetry/alerts/runbooks/",
)
# Axe leaves out the rules of WCAG 2.2 unless they are asked for.
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sluice]:
    """With calls, some of which failed."""
    with serving(tmp_path_factory.mktemp("pages")) as running:
        headers = {"Authorization": f"Bearer {running.key}"}
        with httpx2.Client(base_url=running.base, headers=headers, timeout=60, trust_env=False) as client:
            for n in range(CALLS):
                client.get("/api/v1/bookings", params={"limit": 50 if n % 4 else -1})
            seconds_until(lambda: client.get("/health").json()["last24Hours"]["calls"] >= CALLS, PATIENCE)
        yield Sluice(running.base, running.password, running.key)


def barriers(page: Page, within: str = "html") -> list[str]:
    """The findings of axe that keep people out: serious and critical ones."""
    page.evaluate(needs.axe_core().read_text())
    run = "([within, values]) => axe.run(within, { runOnly: { type: 'tag', values }, resultTypes: ['violations'] })"
    found = page.evaluate(run, [within, RULES])["violations"]
    return [
        f"{each['id']}: {[node['target'] for node in each['nodes']]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]


@PHONE_AND_DESK
def test_no_page_has_a_barrier_a_complaint_or_sideways_scroll(
    chromium: Browser, sluice: Sluice, width: int, scheme: str
) -> None:
    needs.AXE.or_skip()
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        for address in PAGES:
            page.goto(address)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert barriers(page) == [], address
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{address} sticks out"
        assert complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_charts_above_the_admins_list_are_those_of_the_pages(
    chromium: Browser, sluice: Sluice, scheme: str
) -> None:
    needs.AXE.or_skip()
    with window(chromium, sluice, color_scheme=scheme) as (page, complaints):
        use_login(page, sluice)
        page.goto("/admin/telemetry/telemetryrecord/")
        expect(page.locator("#plot-outcomes canvas")).to_be_visible()
        page.locator("#plot-outcomes").press("ArrowLeft")
        expect(page.locator("#chart-outcomes [data-readout]")).to_have_text(re.compile(r"^20\d\d-\d\d-\d\d .*: "))
        assert barriers(page, ".tm-dashboard") == []
        assert complaints == []


def test_a_chart_is_read_and_zoomed_with_keys(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?range=15m")
        plot = page.locator("#plot-outcomes")
        plot.focus()
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#chart-outcomes [data-readout]")).to_have_text(re.compile(r"^20\d\d-\d\d-\d\d .*: "))
        page.keyboard.press("Shift+ArrowLeft")
        page.keyboard.press("Shift+ArrowLeft")
        with page.expect_navigation():
            page.keyboard.press("z")
        zoomed = parse_qs(urlsplit(page.url).query)
        assert sorted(zoomed) == ["from", "to"]
        assert (_ms(page, zoomed["to"][0]) - _ms(page, zoomed["from"][0])) == 3 * 15_000, "three intervals of 15 s"
        assert complaints == []


def test_the_calls_of_the_last_interval_end_with_the_range(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?range=15m")
        until = page.evaluate("JSON.parse(document.querySelector('#chart-data-outcomes').textContent).within[1]")
        page.locator("#plot-outcomes").focus()
        page.keyboard.press("ArrowLeft")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        opened = urlsplit(page.url)
        assert opened.path == "/telemetry/calls/"
        assert _ms(page, parse_qs(opened.query)["to"][0]) == until
        assert complaints == []


def test_a_drag_over_a_chart_zooms(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?range=15m&key=first-key")
        box = page.locator("#plot-outcomes canvas").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + 100, steps=4)
        with page.expect_navigation():
            page.mouse.up()
        assert sorted(parse_qs(urlsplit(page.url).query)) == ["from", "key", "to"]
        assert complaints == []


REFRESH = """new Promise((done) => {
    document.addEventListener("sluice:swapped", done, { once: true });
    document.dispatchEvent(new Event("sluice:refresh"));
})"""


def test_now_says_a_change_of_a_light_and_nothing_else(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{NOW}?refresh=0")
        light, said = page.locator('[data-light="Database"]'), page.locator("#lights-said")
        page.evaluate("document.querySelector('#origins-title').textContent = 'old'")
        page.evaluate(REFRESH)
        expect(page.locator("#origins-title")).to_have_text("Errors by origin")
        assert "Database" not in said.inner_text()
        light.evaluate("(each) => { each.dataset.state = 'Down'; }")
        page.evaluate("document.dispatchEvent(new Event('sluice:swapped'))")
        expect(said).to_have_text("Database: Down.")
        assert complaints == []


def test_a_refresh_keeps_the_focus_and_what_is_open(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?range=15m")
        page.locator("#chart-outcomes-table summary").click()
        page.locator("#plot-outcomes").focus()
        page.evaluate("document.querySelector('#tiles-calls .value').textContent = 'old'")
        page.evaluate("document.dispatchEvent(new Event('sluice:refresh'))")
        expect(page.locator("#tiles-calls .value").first).not_to_have_text("old")
        expect(page.locator("#plot-outcomes")).to_be_focused()
        expect(page.locator("#chart-outcomes-table")).to_have_attribute("open", "")
        expect(page.locator("#plot-outcomes canvas")).to_be_visible()
        assert complaints == []


def test_old_figures_stay_when_a_refresh_fails_and_it_is_said(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, _):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?range=15m")
        calls = page.locator("#tiles-calls .value").first.inner_text()
        page.context.clear_cookies()
        page.evaluate("document.dispatchEvent(new Event('sluice:refresh'))")
        expect(page.locator("#updating")).to_contain_text("Not updated")
        assert page.locator("#tiles-calls .value").first.inner_text() == calls


def test_a_slash_leads_to_the_search_and_escape_closes_a_menu(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(OVERVIEW)
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("list_book")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert urlsplit(page.url).path == "/telemetry/tools/list_bookings/"
        page.locator("#more > summary").click()
        expect(page.get_by_role("button", name="Copy link")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#more > summary")).to_be_focused()
        expect(page.get_by_role("button", name="Copy link")).to_be_hidden()
        assert complaints == []


@pytest.mark.parametrize("menu", ["#more", "#add-filter", "#menu", "#user-menu"])
def test_a_menu_fits_a_phone(chromium: Browser, sluice: Sluice, menu: str) -> None:
    with window(chromium, sluice, viewport={"width": 390, "height": 800}) as (page, _):
        use_login(page, sluice)
        page.goto(OVERVIEW)
        page.locator(f"{menu} > summary").click()
        box = page.locator(f"{menu} > div").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390


def test_zone_comparison_and_refresh_are_in_the_sheet_of_a_phones_filters(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, viewport={"width": 390, "height": 800}) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?range=6h&key=first-key")
        page.get_by_text("Filters (1)").click()
        sheet = page.locator("#add-filter")
        sheet.get_by_label("Compare with").select_option("week")
        sheet.get_by_label("Time zone").select_option("Asia/Tokyo")
        sheet.get_by_role("button", name="Apply").click()
        page.wait_for_url(re.compile("compare=week"))
        expect(sheet.get_by_label("Compare with")).to_have_value("week")
        chosen = {"range": ["6h"], "key": ["first-key"], "compare": ["week"], "tz": ["Asia/Tokyo"]}
        assert chosen.items() <= parse_qs(urlsplit(page.url).query).items()
        assert complaints == []


def test_single_keys_can_be_switched_off(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, _):
        use_login(page, sluice)
        page.goto(OVERVIEW)
        page.locator("#user-menu > summary").click()
        page.get_by_role("button", name="Single-key shortcuts").click()
        page.keyboard.press("Escape")
        page.reload()
        page.keyboard.press("/")
        expect(page.get_by_role("searchbox")).not_to_be_focused()


def test_times_are_in_the_zone_of_the_browser_from_the_first_visit_on(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, timezone_id="Asia/Tokyo") as (page, complaints):
        use_login(page, sluice)
        page.goto(OVERVIEW)
        expect(page.locator("#controls select[name=tz]")).to_have_value("Asia/Tokyo")
        assert complaints == []


def test_range_filters_and_groups_work_without_scripts(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, java_script_enabled=False) as (page, _):
        use_login(page, sluice)
        page.goto(f"{OVERVIEW}?key=first-key")
        page.locator("select[name=range]").select_option("1h")
        page.get_by_role("button", name="Apply").click()
        assert parse_qs(urlsplit(page.url).query)["range"] == ["1h"]
        assert parse_qs(urlsplit(page.url).query)["key"] == ["first-key"]
        page.get_by_text("+ Filter").click()
        page.get_by_label("What").select_option("transport")
        page.get_by_label("Value").fill("rest")
        page.get_by_role("button", name="Add filter").click()
        expect(page.get_by_role("link", name="Remove the filter transport: rest")).to_be_visible()
        expect(page.locator(".drawing path").first).to_be_attached()
        page.locator("select[name=by]").nth(1).select_option("reason")
        page.get_by_role("button", name="Group").click()
        expect(page.get_by_role("heading", name="By tool and reason")).to_be_visible()


def _ms(page: Page, moment: str) -> int:
    return int(page.evaluate("(moment) => Date.parse(moment)", moment))
