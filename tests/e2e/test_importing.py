"""An API is imported in a real browser and by command, and its tools answer over MCP."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser, Locator, Page, expect

from tests import needs
from tests.e2e import test_browser
from tests.e2e.serving import Serving, serving
from tests.e2e.test_browser import PHONE_AND_DESK, Sluice, go, use_login, window
from tests.e2e.test_telemetry_pages import barriers
from tests.gateway.connectors.openapi.documents import large
from tests.patience import PATIENCE
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.browser
chromium = test_browser.chromium

SECRET = "canary-90c1d5-of-the-shop"
NAMELESS = """() => [...document.querySelectorAll("#content :is(input:not([type=hidden]), select, textarea)")]
    .filter((each) => !each.labels?.length && !each.getAttribute("aria-label") && each.type !== "submit")
    .map((each) => each.outerHTML)"""

REMEMBER_STATUS = """() => {
    const status = document.querySelector("[data-status]");
    new MutationObserver(() => sessionStorage.said = status.textContent).observe(status, {childList: true});
}"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("importing"), ALLOW_PRIVATE_UPSTREAMS="127.0.0.0/8") as started:
        yield started


@pytest.fixture(scope="module")
def sluice(running: Serving) -> Sluice:
    return Sluice(running.base, running.password, running.key)


@pytest.fixture(scope="module")
def api() -> Iterator[Shop]:
    with shop() as simulated:
        yield simulated


def file_of(document: Any, folder: Path) -> Path:
    path = folder / "openapi.json"
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def keyed(api: Shop) -> dict[str, Any]:
    scheme = {"type": "apiKey", "in": "header", "name": "X-Shop-Key"}
    components = {**api.document["components"], "securitySchemes": {"key": scheme}}
    return {**api.document, "components": components, "security": [{"key": []}]}


def read_document(page: Page, name: str, path: Path) -> None:
    """From the admin's first page, as somebody finds the way."""
    page.goto("/admin/")
    page.get_by_role("link", name="Import APIs").click()
    page.get_by_role("link", name="Import an API").click()
    page.get_by_label("Name", exact=False).first.fill(name)
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Read the document").click()


def is_whole(page: Page) -> bool:
    """Nothing sticks out, and everything that is filled in has a name."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    assert page.evaluate(NAMELESS) == [], page.url
    return True


async def called(sluice: Sluice, tool: str, arguments: dict[str, Any]) -> Any:
    """By the official SDK."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {sluice.key}"}, timeout=PATIENCE) as http,
        Client(streamable_http_client(f"{sluice.address}/mcp", http_client=http)) as client,
    ):
        return json.loads((await client.call_tool(tool, arguments)).content[0].text)  # type: ignore[union-attr]


def call(sluice: Sluice, tool: str, arguments: dict[str, Any]) -> Any:
    """On a thread of its own: the browser's loop has this one."""
    with start_blocking_portal() as portal:
        return portal.call(called, sluice, tool, arguments)


@pytest.mark.parametrize(("width", "scheme", "name"), [(1280, "light", "shop"), (390, "dark", "kiosk")])
def test_an_api_is_imported_and_its_tool_answers(
    chromium: Browser, sluice: Sluice, api: Shop, tmp_path: Path, width: int, scheme: str, name: str
) -> None:
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        read_document(page, name, file_of(keyed(api), tmp_path))
        expect(page.get_by_text("The document asks for an API key in the header X-Shop-Key.")).to_be_visible()
        assert is_whole(page)
        page.get_by_label("Secret").fill(SECRET)
        page.get_by_role("button", name="Switch off all").click()
        page.get_by_label("Find").fill("get customer")
        row = page.get_by_role("row", name="GET /customers/{id}")
        expect(row).to_be_visible()
        expect(page.get_by_role("row", name="GET /log")).to_be_hidden()
        page.get_by_role("checkbox", name=f"{name}_get_customer").check()
        row.get_by_role("textbox").fill("find_customer")
        expect(page.locator("[data-total]")).to_have_text(re.compile(r"^1 tools on, about [\d,]+ tokens$"))
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.locator(".messagelist .success")).to_have_text(re.compile(f"1 tool of {name} is switched on"))
        assert SECRET not in page.content()
        for address in ("importedapi", "importedoperation"):
            assert is_whole(page)
            page.goto(f"/admin/openapi/{address}/")
        with page.expect_navigation():
            page.locator("#result_list tbody th a").first.click()
        assert is_whole(page)
        page.screenshot(path=tmp_path / f"operation-{width}.png", full_page=True)
        assert complaints == []
    answer = call(sluice, f"{name}_find_customer", {"id": "7"})
    assert answer["name"] == "Customer 7"
    assert api.calls[-1][3]["x-shop-key"] == SECRET


FULL = """() => {
    const gauge = document.querySelector("[data-tool-list]");
    gauge.dataset.budget = gauge.dataset.tokens;
}"""


@PHONE_AND_DESK
def test_a_full_tool_list_is_warned_of_before_anything_is_saved(
    chromium: Browser, running: Serving, sluice: Sluice, api: Shop, tmp_path: Path, width: int, scheme: str
) -> None:
    """On the pages of an import, of all operations, and of one."""
    name = f"stand{width}"
    document = str(file_of(api.document, tmp_path))
    assert running.manage("import_openapi", document, "--name", name, "--only", "log").returncode == 0
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        warning = page.get_by_role("status").filter(has_text="clients get a search instead of the list.")

        def warns_of(box: Locator) -> None:
            page.evaluate(FULL)
            expect(warning).to_be_hidden()
            box.check()
            expect(warning).to_have_text(re.compile("^With this choice the tool list takes [0-9,]+ of [0-9,]+ tokens:"))
            assert is_whole(page)
            box.uncheck()
            expect(warning).to_be_hidden()

        page.goto("/admin/openapi/importedoperation/")
        page.evaluate(FULL)
        page.get_by_role("checkbox", name=re.compile(": enabled$"), checked=False).last.check()
        expect(warning).to_be_in_viewport()  # also at the end of a long list
        page.goto("/admin/openapi/importedoperation/?q=place_order")
        box = page.get_by_role("checkbox", name=f"{name}_place_order: enabled")
        warns_of(box)
        go(page, page.get_by_role("row").filter(has=box).get_by_role("link").first)
        warns_of(page.get_by_label("Enabled"))
        read_document(page, f"{name}-too", file_of(api.document, tmp_path))
        page.get_by_role("button", name="Switch off all").click()
        warns_of(page.get_by_role("checkbox", name=f"{name}-too_read_log"))
        assert complaints == []


@PHONE_AND_DESK
def test_tools_are_switched_as_a_draft_and_saved_together(
    chromium: Browser, running: Serving, sluice: Sluice, api: Shop, tmp_path: Path, width: int, scheme: str
) -> None:
    """Nothing is in force before the page that asks has its reason; a save that was overtaken is refused."""
    needs.AXE.or_skip()
    name = f"stall{width}"
    document = str(file_of(api.document, tmp_path))
    assert running.manage("import_openapi", document, "--name", name, "--only", "log").returncode == 0
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        page.goto(f"/admin/tools/?q={name}")
        writes = page.get_by_role("checkbox", name=f"{name}_place_order: on")
        log = page.get_by_role("checkbox", name=f"{name}_read_log: on")
        writes.check()
        expect(page.locator("#draft-gauge")).to_contain_text("With your changes:")
        expect(page.locator("#draft-effect")).to_contain_text(f"{name}_place_order on (✎ writes)")
        assert fits(page)
        page.get_by_role("searchbox", name="Filter").fill(f"{name}_read_log")
        page.keyboard.press("Enter")
        expect(writes).to_have_count(0)
        log.uncheck()
        expect(page.locator("#draft-count")).to_have_text("Save 2 changes…")

        page.goto(f"/admin/tools/?q={name}")
        assert (writes.is_checked(), log.is_checked()) == (False, True), "nothing is saved"
        writes.check()
        log.uncheck()
        go(page, page.get_by_role("button", name=re.compile("^Save ")))
        expect(page.get_by_role("heading", name="Save 2 changes of the tool list?")).to_be_visible()
        expect(page.locator("#table-switched tr", has_text=f"{name}_place_order")).to_contain_text("✎ writes")
        expect(page.locator("#table-keys tr", has_text="first-key")).to_contain_text(f"{name}_place_order")
        assert fits(page)
        page.get_by_label("Reason").fill("the desk takes orders")
        with window(chromium, sluice, java_script_enabled=False, viewport=size) as (other, _):
            use_login(other, sluice)
            other.goto(f"/admin/tools/?q={name}_read_log")
            other.get_by_role("checkbox", name=f"{name}_read_log: on").uncheck()
            go(other, other.get_by_role("button", name="Show effect"))
            go(other, other.get_by_role("button", name="Save 1 change…"))
            go(other, other.get_by_role("button", name="Save 1 change"))
            expect(other.get_by_text("Saved: 1 tool switched off.")).to_be_visible()
        go(page, page.get_by_role("button", name="Save 2 changes"))
        refused = page.get_by_role("alert").filter(has_text=f"{name}_read_log was switched off by admin")
        expect(refused).to_be_visible()
        assert fits(page)
        go(page, page.get_by_role("button", name="Save 1 change…"))
        page.get_by_label("Reason").fill("the desk takes orders")
        go(page, page.get_by_role("button", name="Save 1 change"))
        expect(page.get_by_text("Saved: 1 tool switched on.")).to_be_visible()
        assert [each for each in complaints if "409" not in each] == []  # the console names the status of the refusal
    assert running.manage("shell", "-c", ORDERS.format(name=name)).stdout.strip().endswith("the desk takes orders")


ORDERS = """
from gateway.connectors.openapi.models import ImportedOperation
row = ImportedOperation.objects.get(api__upstream__name="{name}", name="place_order")
print(row.enabled and row.history.first().history_change_reason)
"""


def fits(page: Page) -> bool:
    """Nothing sticks out, and assistive technology finds its way."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), page.url
    assert barriers(page) == [], page.url
    return True


@PHONE_AND_DESK
def test_an_api_is_tested_and_renamed(
    chromium: Browser, running: Serving, sluice: Sluice, api: Shop, tmp_path: Path, width: int, scheme: str
) -> None:
    name = f"booth{width}"
    document = str(file_of(api.document, tmp_path))
    assert running.manage("import_openapi", document, "--name", name, "--only", "log").returncode == 0
    size = {"width": width, "height": 900}
    with window(chromium, sluice, color_scheme=scheme, viewport=size) as (page, complaints):
        use_login(page, sluice)
        page.goto("/admin/upstreams/upstreamapi/")
        assert is_whole(page)
        go(page, page.get_by_role("link", name=name, exact=True))
        page.get_by_label("Test with").select_option("read_log")
        go(page, page.get_by_role("button", name="Save and test the connection"))
        expect(page.locator(".messagelist .success")).to_contain_text(f"API {name} answers: status 200 in")
        page.get_by_role("textbox", name="Name:", exact=True).fill(f"new-{name}")
        go(page, page.get_by_role("button", name="Save", exact=True))
        expect(page.get_by_role("heading", name="1 tool gets another name")).to_be_visible()
        assert is_whole(page)
        go(page, page.get_by_role("button", name=f"Rename to new-{name}"))
        expect(page.locator(".messagelist .success")).to_contain_text(f"Renamed {name} to new-{name}")
        assert is_whole(page)
        assert complaints == []
    former, renamed = call(sluice, f"{name}_read_log", {}), call(sluice, f"new-{name}_read_log", {})
    # A cursor holds the minute in which it was made.
    assert former.pop("nextCursor")
    assert renamed.pop("nextCursor")
    assert former == renamed


def test_errors_are_said_where_they_are_made(chromium: Browser, sluice: Sluice, tmp_path: Path) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        read_document(page, "acme", file_of({"swagger": "2.0"}, tmp_path))
        expect(page.get_by_role("alert")).to_contain_text("The document is Swagger 2.0. Convert it to OpenAPI 3 first")
        expect(page.get_by_label("Name", exact=False).first).to_have_value("acme")
        page.get_by_label("Or its address").fill("http://10.0.0.1/openapi.json")
        page.get_by_role("button", name="Read the document").click()
        expect(page.get_by_role("alert")).to_contain_text("10.0.0.1 is a private or reserved address")
        read_document(page, "list", file_of({"openapi": "3.1.0"}, tmp_path))
        expect(page.locator(".errorlist")).to_contain_text("Tools of list would look like existing tools")
        assert is_whole(page)
        assert complaints == []


def test_a_large_document_is_read_while_it_is_said_and_stored(
    chromium: Browser, sluice: Sluice, tmp_path: Path
) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        page.goto("/admin/openapi/importedapi/import/")
        page.get_by_label("Name", exact=False).first.fill("vast")
        page.locator("input[type=file]").set_input_files(file_of(large(100, 30), tmp_path))
        page.evaluate(REMEMBER_STATUS)
        page.get_by_role("button", name="Read the document").click()
        expect(page.locator("[data-row]")).to_have_count(500)
        assert page.evaluate("sessionStorage.said") == "Reading the document …"
        page.get_by_label("Base address").fill("https://vast.example.com")
        page.get_by_role("button", name="Switch off all").click()
        page.get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.locator(".messagelist .success")).to_contain_text("1 tool of vast")
        assert complaints == []


def test_all_of_it_is_done_by_keyboard(chromium: Browser, sluice: Sluice, api: Shop, tmp_path: Path) -> None:
    with window(chromium, sluice) as (page, complaints):
        use_login(page, sluice)
        read_document(page, "stall", file_of(api.document, tmp_path))
        expect(page.get_by_label("Find")).to_be_visible()  # the page's script shows it
        page.get_by_label("Find").focus()
        page.keyboard.type("log")
        page.keyboard.press("Enter")  # finds, and sends nothing
        for _ in range(2):
            page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Switch off all")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("region", name="Operations")).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("checkbox", name="stall_read_log")).to_be_focused()
        page.keyboard.press("Space")
        expect(page.locator("[data-total]")).to_have_text(re.compile("^7 tools on"))
        page.get_by_role("button", name="Import", exact=True).press("Enter")
        expect(page.locator(".messagelist .success")).to_contain_text("7 tools of stall")
        assert complaints == []


def test_the_command_imports_beside_the_running_server(running: Serving, sluice: Sluice, api: Shop, tmp_path: Path):
    document = str(file_of(keyed(api), tmp_path))
    shown = running.manage("import_openapi", document, "--name", "depot")
    assert (shown.returncode, "Nothing was stored." in shown.stdout) == (0, True)
    wrong = running.manage("import_openapi", str(tmp_path / "none.json"), "--name", "depot", "--all")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "none.json cannot be read" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    arguments = ("--name", "depot", "--all", "--credential-env", "SHOP_KEY")
    stored = running.manage("import_openapi", document, *arguments, SHOP_KEY=SECRET)
    assert stored.returncode == 0, stored.stderr
    assert SECRET not in stored.stdout + stored.stderr
    assert call(sluice, "depot_get_customer", {"id": "9"})["name"] == "Customer 9"
    assert api.calls[-1][3]["x-shop-key"] == SECRET
