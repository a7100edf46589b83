"""Pages of the admin that operators and people with few rights open: they fit, say what they are, and lead on."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.clusters import seconds_until
from tests.e2e.serving import serving
from tests.e2e.test_browser import PHONE_AND_DESK, Sluice, chromium, go, log_in, shown, use_login, window
from tests.patience import PATIENCE

pytestmark = pytest.mark.browser
__all__ = ["chromium"]

BOOKING = "/api/v1/bookings/43000003"
KEYS = "/admin/access/apikey/"
WITHHELD = "/admin/telemetry/withheldfield/"
VIEWER = "looks-only-2026"
MESSAGE = (
    "6% of answers were over budget (limit 5%): get_booking 4, get_listing 2 of 100 calls in 15 minutes. All were made "
    "smaller before sending."
)
PREPARE = f"""
from django.contrib.auth.models import Permission, User
from django.utils import timezone
from telemetry.models import Alert, AlertRule
times = dict.fromkeys(("since", "started_at", "fired_at", "ended_at", "checked_at"), timezone.now())
rule = AlertRule.objects.get(shipped_as="oversized_share")
Alert.objects.create(rule=rule, message="{MESSAGE}", state="normal", value=0.06, peak=0.2, limit=0.05, **times)
viewer = User.objects.create_user("viewer", password="{VIEWER}", is_staff=True)
viewer.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
"""
# What people read or fill in, and where it ends.
CUT_OFF = """() => [...document.querySelectorAll("main :is(h1, p, th, td, label, input, select, textarea, code)")]
  .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth)
  .map(each => each.outerHTML.slice(0, 120))"""
UNNAMED = """() => [...document.querySelectorAll("main :is(input:not([type=hidden]), select, textarea)")]
  .filter(each => each.checkVisibility() && !["submit", "button"].includes(each.type))
  .filter(each => !each.labels.length && !each.ariaLabel && !each.getAttribute("aria-labelledby"))
  .map(each => each.outerHTML.slice(0, 120))"""
FOCUSED = """() => {
  const style = getComputedStyle(document.activeElement), box = document.activeElement.getBoundingClientRect();
  const drawn = parseFloat(style.outlineWidth) > 0 && style.outlineStyle !== "none" || style.boxShadow !== "none";
  return {id: document.activeElement.id, name: document.activeElement.name, seen: drawn && box.width > 1};
}"""


@pytest.fixture(scope="module")
def sluice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sluice]:
    with serving(tmp_path_factory.mktemp("pages")) as running:
        made = running.manage("shell", "-c", PREPARE)
        assert made.returncode == 0, made.stderr
        yield Sluice(running.base, running.password, running.key)


def fits(page: Page) -> None:
    assert page.evaluate(CUT_OFF) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"


@PHONE_AND_DESK
def test_withheld_fields_are_listed_within_the_screen(
    chromium: Browser, sluice: Sluice, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        assert page.request.get(BOOKING, headers={"Authorization": f"Bearer {sluice.key}"}).ok
        seconds_until(lambda: "guestPortalRevampUrl" in shown(page, WITHHELD), PATIENCE)
        fits(page)
        expect(page.get_by_role("cell", name="doorCode", exact=True)).to_be_visible()
        go(page, page.get_by_role("row", name="doorCode").get_by_role("link").first)
        expect(page.get_by_text("door code", exact=True)).to_be_visible()
        expect(page.get_by_text("Field withheld")).to_be_visible()
        expect(page.get_by_role("link", name="History")).to_have_count(0)
        fits(page)
        assert complaints == []


@PHONE_AND_DESK
def test_the_message_of_an_alert_can_be_read(chromium: Browser, sluice: Sluice, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        page.goto("/admin/telemetry/alert/")
        message = page.get_by_role("link", name=MESSAGE)
        expect(message).to_be_visible()
        box = message.bounding_box()
        assert box is not None
        assert box["width"] >= 0.5 * min(width, 400)
        assert box["x"] + box["width"] <= width, "it needs no scrolling"
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
        assert complaints == []


@PHONE_AND_DESK
def test_a_key_that_reveals_fields_is_made_seen_and_changed(
    chromium: Browser, sluice: Sluice, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    name = f"desk-{width}"
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{KEYS}add/")
        page.get_by_label("Name:").fill(name)
        page.locator("summary", has_text="Secrets").click()
        page.get_by_label("Revealed fields").fill("guestName")
        fits(page)
        assert page.evaluate(UNNAMED) == []
        go(page, page.get_by_role("button", name="Save", exact=True))
        expect(page.locator(".field-reveal .errorlist")).to_contain_text("“guestName” is not withheld")
        page.get_by_label("Revealed fields").fill("doorCode, wifiPassword")
        go(page, page.get_by_role("button", name="Save", exact=True))

        secret = page.locator(".secret code").inner_text()
        fits(page)
        assert page.request.get(BOOKING, headers={"Authorization": f"Bearer {secret}"}).ok
        page.goto(KEYS)
        fits(page)
        expect(page.get_by_role("row", name=name)).to_contain_text("doorCode, wifiPassword")

        go(page, page.locator("#result_list").get_by_role("link", name=name))
        page.get_by_label("Revealed fields").fill("doorCode")
        go(page, page.get_by_role("button", name="Save and continue editing"))
        go(page, page.get_by_role("link", name="History"))
        expect(page.locator("#change-history")).to_contain_text("[doorCode, wifiPassword] → [doorCode]")
        fits(page)
        assert complaints == []


def test_the_tab_key_reaches_what_a_key_is_made_of(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice, viewport={"width": 1440, "height": 900}) as (page, _):
        use_login(page, sluice)
        page.goto(f"{KEYS}add/")
        expect(page.get_by_label("Name:")).to_be_focused()
        wanted = ["name", "owner", "expires_at_0", "expires_at_1", "daily_tokens", "reads_only", "_save"]
        reached = []
        while wanted[-1] not in reached:
            focused = page.evaluate(FOCUSED)
            assert focused["seen"], focused
            reached.append(focused["name"])
            assert len(reached) < 60, reached
            page.keyboard.press("Tab")
        assert [each for each in reached if each in wanted] == wanted


@PHONE_AND_DESK
def test_who_may_only_look_is_told_so_and_led_back(chromium: Browser, sluice: Sluice, width: int, scheme: str) -> None:
    size = {"width": width, "height": 900}
    viewer = replace(sluice, password=VIEWER)
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, viewer, "viewer")
        page.goto(KEYS)
        fits(page)
        go(page, page.get_by_role("link", name="first-key"))
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        fits(page)
        assert complaints == []
        page.goto(f"{KEYS}add/")
        expect(page.get_by_role("heading", name="You may not open this page")).to_be_visible()
        assert scheme in page.evaluate("getComputedStyle(document.documentElement).colorScheme")
        fits(page)
        go(page, page.get_by_role("link", name="Admin"))
        expect(page.get_by_role("heading", name="Configuration")).to_be_visible()


def test_five_wrong_passwords_lead_to_a_page_that_says_how_long(chromium: Browser, sluice: Sluice) -> None:
    """At two windows in turn: it is the name that is locked."""
    wrong = replace(sluice, password="wrong")
    with (
        window(chromium, sluice, color_scheme="light", viewport={"width": 1440, "height": 900}) as (desk, _),
        window(chromium, sluice, color_scheme="dark", viewport={"width": 390, "height": 900}) as (phone, _),
    ):
        for page in (desk, phone, desk, phone, desk):
            log_in(page, wrong, "nobody")
            expect(page.get_by_text("Please enter the correct username and password")).to_be_visible()
            fits(page)
        for page in (desk, phone):
            log_in(page, wrong, "nobody")
            expect(page.get_by_role("heading", name="Too many failed logins")).to_be_visible()
            expect(page.get_by_text("Try again in 15 minutes")).to_be_visible()
            fits(page)
            expect(page.get_by_role("link", name="Home page")).to_be_visible()


@PHONE_AND_DESK
def test_the_password_page_fits_and_says_what_is_wrong(
    chromium: Browser, sluice: Sluice, width: int, scheme: str
) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        log_in(page, replace(sluice, password=VIEWER), "viewer")
        go(page, page.get_by_role("link", name="Change password"))
        fits(page)
        assert page.evaluate(UNNAMED) == []
        page.get_by_label("Old password").fill(VIEWER)
        page.get_by_label("New password:").fill("an-entirely-new-one")
        page.get_by_label("New password confirmation").fill("another-one")
        go(page, page.get_by_role("button", name="Change my password"))
        expect(page.get_by_text("The two password fields didn’t match.")).to_be_visible()
        fits(page)
        assert complaints == []


@pytest.mark.parametrize(
    ("path", "filled"),
    [
        ("/admin/rollouts/new/", {"default_page_size": "7"}),
        ("/telemetry/experiments/new/", {"question": "Does it help?"}),
    ],
)
def test_what_is_wrong_in_a_new_rollout_or_experiment_is_marked_and_read_out(
    chromium: Browser, sluice: Sluice, path: str, filled: dict[str, str]
) -> None:
    with window(chromium, sluice) as (page, _):
        use_login(page, sluice)
        page.goto(path)
        name = page.get_by_label("Name")
        expect(name).to_have_accessible_description("Small letters, digits and hyphens.")
        for field, text in {"name": "new", "reason": "to know", **filled}.items():
            page.locator(f"[name={field}]").fill(text)
        go(page, page.get_by_role("button", name="Save the draft"))
        expect(page.get_by_text("Nothing is saved. Correct what is marked below.")).to_be_visible()
        problem = "“new” is the address of this form. Choose another name."
        expect(name).to_have_accessible_description(f"Small letters, digits and hyphens. {problem}")
        colour = "each => getComputedStyle(each).color"
        assert page.get_by_text(problem).evaluate(colour) != page.locator("main label").first.evaluate(colour)


LONG = "https://tickets.example.com/browse/" + "0123456789" * 6


@pytest.mark.parametrize(
    ("pages", "filled"),
    [
        ("/admin/rollouts/", {"default_page_size": "7"}),
        ("/telemetry/experiments/", {"question": "Does it help?"}),
    ],
)
def test_a_long_reason_of_a_rollout_or_experiment_fits_a_phone(
    chromium: Browser, sluice: Sluice, pages: str, filled: dict[str, str]
) -> None:
    with window(chromium, sluice, viewport={"width": 390, "height": 900}) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"{pages}new/")
        for field, text in {"name": "long-reason", "reason": LONG, **filled}.items():
            page.locator(f"[name={field}]").fill(text)
        go(page, page.get_by_role("button", name="Save the draft"))
        page.get_by_label("Reason").fill(LONG)
        go(page, page.get_by_role("button", name="Start"))
        expect(
            page.get_by_text(f"Running, step 1 of 4: {LONG}").or_(page.get_by_text(f"Running: {LONG}"))
        ).to_be_visible()
        fits(page)
        assert complaints == []


def test_the_values_of_a_rollout_stand_apart_in_the_list(chromium: Browser, sluice: Sluice) -> None:
    with window(chromium, sluice) as (page, _):
        use_login(page, sluice)
        page.goto("/admin/rollouts/new/")
        for field, text in {"name": "two", "reason": "why", "default_page_size": "7", "hard_cap": "20000"}.items():
            page.locator(f"[name={field}]").fill(text)
        go(page, page.get_by_role("button", name="Save the draft"))
        page.goto("/admin/rollouts/")
        values = page.get_by_role("row", name="two").locator("[data-label=Values]")
        assert values.inner_text().splitlines() == ["defaultPageSize 7", "hardCap 20,000"]
