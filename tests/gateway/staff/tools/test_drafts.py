"""The switches of /admin/tools/ as a draft: what it would change is shown, then asked, then saved as a whole."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from context_protection.configuration import revisions
from gateway.access.models import ApiKey, ConnectorSwitch, ToolSet
from gateway.access.tool_switch import ToolSwitch
from gateway.catalog.catalog import catalogue
from gateway.connectors.mcp_servers.models import McpServer, McpTool
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportedOperation
from gateway.mcp.tools import unrestricted_list
from gateway.staff.tools.draft import SWITCHES, SwitchDraft, planned
from gateway.staff.tools.switch_save import SwitchesOvertaken, save
from gateway.staff.tools.tool_entries import tool_entries
from gateway.upstreams.models import UpstreamApi
from telemetry.models import Event
from tests.gateway.staff.keys.test_pages import words
from tests.simulators.shop import described

pytestmark = pytest.mark.django_db
PAGE = "/admin/tools/"
SAVE = f"{PAGE}save/"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """What the process knows of the switches is that of the next test again."""
    yield
    ConnectorSwitch.objects.update(is_on=True)
    McpServer.objects.all().delete()
    McpTool.objects.all().delete()
    UpstreamApi.objects.all().delete()
    ApiKey.objects.all().delete()
    revisions.revisions.bump()
    catalogue.refresh()


@pytest.fixture
def writer() -> McpTool:
    return a_tool("delete_page", tokens=140)


@pytest.fixture
def reader() -> McpTool:
    return a_tool("get_page", tokens=100, reads_only=True)


def a_tool(name: str, **fields: Any) -> McpTool:
    McpServer.objects.get_or_create(name="papers", url="https://mcp.example.com/mcp")
    made = McpTool.objects.create(server="papers", name=name, **{"enabled": False, **fields})
    revisions.revisions.bump()
    catalogue.refresh()
    return made


def nsip() -> ConnectorSwitch:
    return ConnectorSwitch.objects.get(connector="nsip")


def draft(*wanted: tuple[ToolSwitch, bool], **more: str) -> dict[str, Any]:
    """The form, with each of these switches changed to what is wanted."""
    rows = [f"{switch.switch_id}={'off' if is_on else 'on'}" for switch, is_on in wanted]
    return {"row": rows, "on": [switch.switch_id for switch, is_on in wanted if is_on], **more}


def saving(*wanted: tuple[ToolSwitch, bool], reason: str = "") -> dict[str, Any]:
    return draft(*wanted, do="save", change_reason=reason)


def is_on(switch: ToolSwitch) -> bool:
    return type(switch)._default_manager.get(pk=switch.pk).is_switched_on


def staff(*codenames: str) -> Client:
    user = User.objects.create_user("somebody", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=("view_toolset", *codenames)))
    client = Client()
    client.force_login(user)
    return client


# -- The effect -------------------------------------------------------------------------------------


def test_the_effect_is_shown_and_nothing_is_saved(admin_client: Client, reader: McpTool):
    now = unrestricted_list()
    answer = admin_client.post(PAGE, draft((reader, True), (nsip(), False)))
    off = sum(each.tokens for each in now.definitions if each.tool.name.startswith("nsip_"))
    tools = len(now.definitions) - sum(each.tool.name.startswith("nsip_") for each in now.definitions) + 1
    shown = words(answer)
    assert f"With your changes: {now.whole + 100 - off:,} of 8,000 tokens" in shown
    assert f"Clients would get all {tools} tools instead of all {len(now.definitions)} tools." in shown
    assert "Save 2 changes…" in shown
    assert not is_on(reader)
    assert is_on(nsip())
    assert not reader.history.exclude(history_type="+").exists()


def test_the_effect_says_that_the_list_becomes_a_search(admin_client: Client, reader: McpTool, settings: Any):
    settings.TOOL_LIST_BUDGET = unrestricted_list().whole + 50
    now = len(unrestricted_list().definitions)
    shown = words(admin_client.post(PAGE, draft((reader, True))))
    assert f"Clients would get 3 search tools instead of all {now} tools." in shown
    assert "▲" in shown


def test_a_connector_that_goes_on_counts_its_tools(admin_client: Client):
    whole = unrestricted_list().whole
    ConnectorSwitch.objects.filter(connector="nsip").update(is_on=False)
    revisions.revisions.bump()
    catalogue.refresh()
    assert unrestricted_list().whole < whole
    assert f"With your changes: {whole:,} of 8,000" in words(admin_client.post(PAGE, draft((nsip(), True))))


def test_a_tool_whose_server_is_off_does_not_count(admin_client: Client, reader: McpTool):
    McpServer.objects.update(enabled=False)
    revisions.revisions.bump()
    effect = words(admin_client.post(PAGE, draft((reader, True))))
    assert f"With your changes: {unrestricted_list().whole:,} of" in effect
    assert "on, once its API or server is on" in words(admin_client.post(SAVE, draft((reader, True))))


def test_a_filter_keeps_the_changes_that_it_hides(admin_client: Client, reader: McpTool, writer: McpTool):
    text = admin_client.post(f"{PAGE}?q=delete_page", draft((reader, True), (writer, True))).content.decode()
    assert f'<input type="hidden" name="row" value="{reader.switch_id}=off">' in text
    assert f'<input type="hidden" name="on" value="{reader.switch_id}">' in text
    assert len(re.findall(f'name="on" value="{writer.switch_id}"', text)) == 1, (
        "a row that is shown has its checkbox only"
    )


# -- The question -----------------------------------------------------------------------------------


def test_the_question_says_what_changes_for_whom(admin_client: Client, writer: McpTool, reader: McpTool):
    for name, more in (("all-of-it", {}), ("reads-only", {"reads_only": True}), ("desk", {})):
        ApiKey.objects.issue(name, **more)
    ApiKey.objects.get(name="desk").tool_sets.add(ToolSet.objects.create(name="desk", tools=["list_bookings"]))
    revisions.revisions.bump()
    text = html.unescape(admin_client.post(SAVE, draft((writer, True), (reader, True))).content.decode())
    rows = {
        re.sub(r"<[^>]+>|\s", "", head): " ".join(re.sub(r"<[^>]+>", " ", cells).split())
        for head, cells in re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', text, re.S)
    }
    assert "✎ writes" in rows["papers_delete_page"]
    assert "✎" not in rows["papers_get_page"]
    assert "papers_delete_page, papers_get_page" in rows["all-of-it"]
    assert rows["reads-only"].startswith("papers_get_page –")
    assert "desk" not in rows
    assert "A tool that writes is switched on: papers_delete_page." in text


@pytest.mark.parametrize("what", ["a tool that writes", "a flip", "neither"])
def test_a_reason_is_required_for_writes_and_flips(
    admin_client: Client, reader: McpTool, writer: McpTool, settings: Any, what: str
):
    tool = writer if what == "a tool that writes" else reader
    if what == "a flip":
        settings.TOOL_LIST_BUDGET = unrestricted_list().whole + 50
    answer = admin_client.post(SAVE, saving((tool, True)))
    assert is_on(tool) is (what == "neither")
    assert answer.status_code == (302 if what == "neither" else 422)
    if what != "neither":
        assert "Give a reason" in words(answer)


def test_a_flip_of_one_key_alone_is_named(admin_client: Client, reader: McpTool, settings: Any):
    """The key does not see half of the tools, so its list still fits where that of the others does not."""
    ApiKey.objects.issue("desk", hidden_tools=[each.name for each in catalogue if each.name.startswith("nsip_")])
    revisions.revisions.bump()
    shorter = sum(each.tokens for each in unrestricted_list().definitions if not each.tool.name.startswith("nsip_"))
    settings.TOOL_LIST_BUDGET = shorter + 50
    answer = admin_client.post(SAVE, saving((reader, True)))
    assert "The form of the list changes for desk." in words(answer)
    assert answer.status_code == 422


# -- The save ---------------------------------------------------------------------------------------


def test_a_save_is_whole_has_its_history_and_is_announced_once(
    admin_client: Client,
    writer: McpTool,
    reader: McpTool,
    django_capture_on_commit_callbacks: Any,
):
    with django_capture_on_commit_callbacks(execute=True) as done:
        answer = admin_client.post(SAVE, saving((writer, True), (reader, True), (nsip(), False), reason="month end"))
    assert sum(each == revisions.revisions.bump for each in done) == 1
    assert answer["Location"].startswith(f"{PAGE}?saved=")
    assert (is_on(writer), is_on(reader), is_on(nsip())) == (True, True, False)
    assert McpTool.objects.get(pk=writer.pk).is_chosen, "no rule switches it any more"
    for row in (writer, reader, nsip()):
        newest = row.history.first()
        assert newest.history_change_reason == "month end"
        assert newest.history_user.username == "admin"
    assert Event.objects.filter(reason="month end").count() == 3
    assert not [each for each in unrestricted_list().names if each.startswith("nsip_")], "the next list obeys"
    shown = admin_client.get(answer["Location"]).content.decode()
    assert re.search(r"Saved: 2 tools switched on, 9 tools switched off\. In force in \d+ of \d+ processes", shown)
    undo = html.unescape(re.search(r'href="(/admin/history/rollback/[^"]+)">Undo', shown)[1])  # type: ignore[index]
    assert "3 changes in 3 objects" in words(admin_client.get(undo))


def test_a_save_that_was_overtaken_is_refused_as_a_whole_and_says_by_whom(
    admin_client: Client, writer: McpTool, reader: McpTool
):
    form = saving((writer, True), (reader, True), reason="month end")
    other = Client()
    other.force_login(User.objects.create_superuser("ops-1"))
    other.post(SAVE, saving((reader, True)))
    answer = admin_client.post(SAVE, form)
    assert answer.status_code == 409
    assert "papers_get_page was switched on by ops-1 since you opened the list." in words(answer)
    assert not is_on(writer)
    text = answer.content.decode()
    assert f'value="{writer.switch_id}=off"' in text
    assert re.search(f'name="on" value="{writer.switch_id}"[^>]* checked', text), "the rest of the draft is kept"
    assert "Save 1 change…" in words(answer)


def test_a_save_that_is_overtaken_at_its_last_moment_is_refused_as_a_whole(reader: McpTool, writer: McpTool):
    """Between the check of the draft and the save: the rows are looked at again when they are locked."""
    wanted = {each.switch_id: True for each in (writer, reader)}
    plan = planned(SwitchDraft(dict.fromkeys(wanted, False), frozenset(wanted)), tool_entries())
    McpTool.objects.filter(pk=reader.pk).update(enabled=True)
    with pytest.raises(SwitchesOvertaken, match="papers_get_page was switched on since"):
        save(plan.changes, "month end")
    assert not is_on(writer)


def test_a_tool_that_is_gone_is_named_as_a_reason(admin_client: Client, reader: McpTool):
    form = saving((reader, True))
    reader.delete()
    answer = admin_client.post(SAVE, form)
    assert answer.status_code == 409
    assert "no longer exists" in words(answer)


def test_nothing_ticked_is_nothing_to_save(admin_client: Client, reader: McpTool):
    answer = admin_client.post(SAVE, {"row": f"{reader.switch_id}=off"})
    assert "Nothing to save" in words(answer)
    assert admin_client.get(SAVE)["Location"] == PAGE


def test_equal_operations_of_two_apis_have_switches_of_their_own(admin_client: Client):
    """Two imports of one document: their operations have the same keys in it."""
    document = json.dumps(described("https://shop.example.com")).encode()
    for name in ("shop", "kiosk"):
        plan = import_plan.plan(document, name=name, source="shop.json", base_url="https://shop.example.com")
        import_plan.store(plan, chosen=[])
    of_shop, of_kiosk = ImportedOperation.objects.filter(name="place_order").order_by("-api__upstream__name")
    assert "1 tool on" in words(admin_client.post(SAVE, draft((of_shop, True))))
    admin_client.post(SAVE, saving((of_shop, True), reason="month end"))
    assert (is_on(of_shop), is_on(of_kiosk)) == (True, False)
    assert of_shop.history.first().history_change_reason == "month end"


@pytest.mark.parametrize("model", SWITCHES)
def test_no_field_hides_what_makes_a_row_a_switch(model: type[ToolSwitch]):
    own = {name for name in vars(ToolSwitch) if not name.startswith("_")}
    assert own.isdisjoint(each.name for each in model._meta.get_fields())


# -- Who may ----------------------------------------------------------------------------------------


def test_who_may_only_look_sees_no_switch_and_saves_nothing(reader: McpTool):
    viewer = staff("view_mcptool")
    text = viewer.get(PAGE).content.decode()
    assert "data-tick" not in text
    assert "draft-form" not in text
    assert viewer.post(SAVE, saving((reader, True))).status_code == 403
    assert viewer.get(SAVE).status_code == 403
    assert not is_on(reader)


def test_the_names_of_keys_are_for_those_who_may_see_keys(reader: McpTool):
    ApiKey.objects.issue("desk-of-the-port")
    revisions.revisions.bump()
    assert "desk-of-the-port" not in staff("change_mcptool").post(SAVE, draft((reader, True))).content.decode()
    User.objects.all().delete()
    somebody = staff("change_mcptool", "view_apikey")
    assert "desk-of-the-port" in somebody.post(SAVE, draft((reader, True))).content.decode()


def test_a_tick_is_offered_and_saved_only_where_its_row_may_be_changed(reader: McpTool):
    somebody = staff("change_mcptool")
    text = somebody.get(PAGE).content.decode()
    assert f'name="on" value="{reader.switch_id}"' in text
    assert nsip().switch_id not in text
    assert somebody.post(SAVE, saving((reader, True), (nsip(), False))).status_code == 403
    assert (is_on(reader), is_on(nsip())) == (False, True)
    assert somebody.post(SAVE, saving((reader, True))).status_code == 302
    assert is_on(reader)
