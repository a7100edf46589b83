"""The pages of alerts in a real browser: what is typed into a rule is answered by its sentence and its last week."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests import needs
from tests.e2e.serving import serving
from tests.e2e.test_admin_pages import CUT_OFF, UNNAMED
from tests.e2e.test_browser import PHONE_AND_DESK, Sluice, chromium, go, use_login, window  # noqa: F401 (a fixture)
from tests.e2e.test_telemetry_pages import barriers

pytestmark = pytest.mark.browser

ALERTS = "/telemetry/alerts/"
PREPARE = """
from datetime import timedelta
from django.utils import timezone
from telemetry.alerts import evaluation
from tests.telemetry.examples import a_call, a_summary, stored
at = timezone.now() - timedelta(seconds=5)
stored(*[a_call(at=at)] * 94, *[a_summary(at=at)] * 6)
assert evaluation.check_alerts(now=timezone.now())
"""


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sluice]:
    with serving(tmp_path_factory.mktemp("alerts")) as running:
        made = running.manage("shell", "-c", PREPARE)
        assert made.returncode == 0, made.stderr
        yield Sluice(running.base, running.password, running.key)


@PHONE_AND_DESK
def test_every_page_fits_and_names_its_controls(
    chromium: Browser,  # noqa: F811
    sluice: Sluice,
    width: int,
    scheme: str,
) -> None:
    needs.AXE.or_skip()
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        for path in (ALERTS, f"{ALERTS}1/", f"{ALERTS}rules/", f"{ALERTS}rules/new/?kind=oversized_share"):
            page.goto(path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} sticks out"
            assert page.evaluate(CUT_OFF) == [], path
            assert page.evaluate(UNNAMED) == [], path
            assert barriers(page) == [], path
        assert complaints == []


def test_the_sentence_follows_what_is_typed_and_nothing_is_saved(chromium: Browser, sluice: Sluice) -> None:  # noqa: F811
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{ALERTS}rules/new/?kind=oversized_share")
        page.get_by_label("Name").fill("mine")
        page.get_by_label("Above").fill("2")
        page.get_by_label("At or below").fill("1")
        expect(page.locator(".rule-sentence")).to_contain_text("more than 2% of answers are over their budget")
        expect(page.get_by_text("Would have fired once in the last 7 days.")).to_be_visible()
        page.goto(f"{ALERTS}rules/")
        expect(page.get_by_role("link", name="mine", exact=True)).to_have_count(0)
        assert complaints == []


def test_what_is_wrong_in_a_rule_is_read_out_with_its_field(chromium: Browser, sluice: Sluice) -> None:  # noqa: F811
    with window(chromium, sluice) as (page, _):
        use_login(page, sluice)
        page.goto(f"{ALERTS}rules/new/?kind=oversized_share")
        page.get_by_label("Name").fill("too much")
        page.get_by_label("Above").fill("500")
        go(page, page.get_by_role("button", name="Save rule"))
        described = "500% is more than all. Expected: 0 to 100."
        expect(page.get_by_label("Above")).to_have_accessible_description(described)


def test_an_alert_is_acknowledged_without_scripts(chromium: Browser, sluice: Sluice) -> None:  # noqa: F811
    with window(chromium, sluice, java_script_enabled=False) as (page, _):
        use_login(page, sluice)
        page.goto(ALERTS)
        go(page, page.get_by_role("link", name="Too many oversized answers"))
        page.get_by_label("Note").fill("month end")
        go(page, page.get_by_role("button", name="Acknowledge"))
        expect(page.get_by_text("Acknowledged. Notifications of this alert stop")).to_be_focused()
        expect(page.get_by_text("Acknowledged by admin", exact=False).first).to_be_visible()
        page.goto(ALERTS)
        expect(page.get_by_text("“month end”")).to_be_visible()
