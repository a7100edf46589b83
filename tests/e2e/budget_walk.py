"""What an ops person does with a budget in the pages: looks at the effect of a new value, saves it with a reason, sets
it back on the page of the change, and reads the history."""

import re
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.test_browser import go

OPERATION = "list_bookings"
BUDGET = f"/admin/budgets/{OPERATION}/"
HISTORY = f"/admin/history/?{urlencode({'object': OPERATION, 'range': '1h'})}"


def preview(page: Page, threshold: int) -> None:
    """Types the value; the effect follows, and nothing is saved."""
    page.goto(BUDGET)
    page.get_by_label("Budget", exact=True).fill(str(threshold))
    expect(page.locator("#effect")).to_contain_text(re.compile(r"would be (longer|shorter|answered differently)"))


def save(page: Page, reason: str) -> None:
    page.get_by_label("Reason").fill(reason)
    go(page, page.get_by_role("button", name="Save: next call obeys"))


def open_change(page: Page, reason: str) -> None:
    """The page of the change that has the reason, by its row of the history."""
    page.goto(HISTORY)
    go(page, page.get_by_role("row").filter(has_text=reason).get_by_role("link").first)


def set_back(page: Page, reason: str) -> None:
    """From the page of a change: asks what would be set back, and does it."""
    go(page, page.get_by_role("link", name="Set back…"))
    page.get_by_label("Reason").fill(reason)
    go(page, page.get_by_role("button", name="Set back"))
