"""What all pages share: access, the control bar, filters, the search box and saved views."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from telemetry import facts
from telemetry.models import ProcessReport, SavedView
from tests.telemetry.examples import a_call, stored

SEARCH = "/telemetry/search/"


def test_unknown_visitors_log_in_and_come_back(db, client):
    response = client.get(f"{SEARCH}?q=x&range=1h")
    assert response.status_code == 302
    assert response["Location"] == "/admin/login/?next=/telemetry/search/%3Fq%3Dx%26range%3D1h"


def test_a_refusal_names_the_roles_that_may(db, django_user_model):
    client = Client(headers={"Accept": "text/html"})
    client.force_login(django_user_model.objects.create_user("new", password="a long password", is_staff=True))
    response = client.get(SEARCH)
    assert response.status_code == 403
    assert "cannot see calls. People with the role engineer, ops or viewer can" in response.content.decode()
    client.force_login(django_user_model.objects.create_user("nobody", password="a long password"))
    assert "staff status" in client.get(SEARCH).content.decode()


def test_a_page_has_no_inline_style_or_script(staff):
    page = staff.get(f"{SEARCH}?tool=a&q=b").content.decode()
    assert " style=" not in page
    assert not re.search(r"\son\w+=", page)
    assert not re.search(r"<script(?![^>]*(src=|application/json))", page)


def test_the_control_bar_keeps_what_it_does_not_change(staff):
    page = staff.get(f"{SEARCH}?q=b&tool=a&tz=Asia/Tokyo&range=6h").content.decode()
    form = re.search(r'<form id="controls".*?</form>', page, re.S)[0]
    assert re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form) == [("q", "b"), ("tool", "a")]
    assert '<option value="6h" selected>' in form
    assert '<option value="Asia/Tokyo" selected>' in form


def test_filters_are_added_by_a_form_and_removed_by_a_link(staff):
    response = staff.get(f"{SEARCH}?range=6h&filter=origin&value=caller&not=1")
    assert response["Location"] == "/telemetry/search/?range=6h&origin=!caller"
    page = staff.get(response["Location"]).content.decode()
    assert "origin: not caller" in page
    assert 'class="chip" href="/telemetry/search/?range=6h"' in page


def test_an_address_that_is_not_understood_is_said_on_the_page(staff):
    assert "range=5m is not known" in staff.get(f"{SEARCH}?range=5m").content.decode()


def test_figures_that_are_late_or_too_low_are_said_on_every_page(staff):
    now = timezone.now()
    ProcessReport.objects.create(
        process="00000000-0000-0000-0000-000000000001",
        kind="web",
        host="a",
        pid=1,
        started_at=now,
        seen_at=now,
        report={"recorder": {"lagSeconds": 47, "dropped": 213}},
    )
    page = staff.get(SEARCH).content.decode().replace("\u00a0", " ")
    assert "Figures end 47.0 s before now. Calls are still answered; recording is behind." in page
    assert "213 calls were answered but not recorded" in page


def test_a_text_from_outside_is_escaped(staff):
    page = staff.get(f"{SEARCH}?tool=<script>alert(1)</script>&q=%22%3E%3Cb%3E").content.decode()
    assert "<script>alert" not in page
    assert "<b>" not in page.replace("<b>on</b>", "")


def test_the_search_finds_names_in_all_that_is_stored(staff):
    stored(a_call(request_id="req-77", operation="list_bookings", caller="ci-bot"), a_call(operation="get_booking"))
    page = staff.get(f"{SEARCH}?q=BOOK").content.decode()
    assert "2 results for “BOOK”" in page
    assert "get_booking" in page
    assert "list_bookings" in page
    assert "No request id is “nosuch”" in staff.get(f"{SEARCH}?q=nosuch").content.decode()


def test_the_search_finds_tools_that_were_never_called(staff, monkeypatch):
    monkeypatch.setattr(facts.tools, "_read", lambda: {"delete_note": None})
    assert staff.get(f"{SEARCH}?q=note")["Location"] == "/telemetry/tools/delete_note/"


@pytest.mark.parametrize("query", ["q=%00", "q=", "q=" + "x" * 201, ""])
def test_a_search_for_nothing_says_what_can_be_found(staff, query):
    response = staff.get(f"{SEARCH}?{query}")
    assert response.status_code == 200
    assert "Type a request id" in response.content.decode() or "No request id" in response.content.decode()


# -- Saved views ------------------------------------------------------------------------------------


def save(client: Client, **fields: str):
    return client.post("/telemetry/views/", {"name": "Night", "address": f"{SEARCH}?q=a&tool=b", **fields})


def test_a_search_says_where_request_ids_are(staff):
    shown = staff.get(SEARCH).content.decode()
    assert "An HTTP response has its request id in the header X-Request-ID." in shown
    assert "Calls over WebSocket and stdio have ids of their own, which are in the log." in shown


def test_a_saved_view_is_its_owners_unless_it_is_shared(staff, other_staff):
    assert save(staff)["Location"] == f"{SEARCH}?q=a&tool=b&view={SavedView.objects.get().pk}"
    assert "Night" in staff.get(SEARCH).content.decode()
    assert "Night" not in other_staff.get(SEARCH).content.decode()
    save(staff, name="For all", shared="on")
    page = other_staff.get(SEARCH).content.decode()
    assert "For all" in page
    assert "by ops-2" in page


def test_a_view_is_deleted_by_its_owner_only(staff, other_staff):
    save(staff, shared="on")
    address = f"/telemetry/views/{SavedView.objects.get().pk}/delete/"
    assert other_staff.post(address).status_code == 404
    assert staff.post(address).status_code == 302
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("address", ["https://example.com/telemetry/", "//example.com/telemetry/", "/admin/", "", "x"])
def test_a_saved_view_leads_nowhere_else(staff, address):
    response = save(staff, address=address)
    assert response.status_code == 400
    assert "Expected: a path that starts with /telemetry/" in response.content.decode()
    assert not SavedView.objects.exists()


def test_a_view_without_a_name_is_not_saved(staff):
    save(staff, name=" ")
    assert not SavedView.objects.exists()
    assert "has no name" in staff.get(SEARCH).content.decode()


def test_staff_prove_their_second_factor_before_they_see_figures(staff, settings):
    assert staff.get("/telemetry/overview/").status_code == 200
    assert staff.get("/api/v1/telemetry/summary", headers={"Accept": "application/json"}).status_code == 200
    settings.REQUIRE_SECOND_FACTOR = True
    led = staff.get("/telemetry/overview/")
    assert (led.status_code, led["Location"]) == (302, "/admin/login/?next=/telemetry/overview/")
    assert staff.get("/api/v1/telemetry/summary", headers={"Accept": "application/json"}).status_code == 401
