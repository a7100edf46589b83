"""Keys in the admin: issued there, shown once, revoked and never deleted."""

import re
from typing import Any

import pytest
from django.test import Client

from context_protection.core.errors import NotAuthenticated
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.catalog.caller import ToolChoice

pytestmark = pytest.mark.django_db

KEYS = "/admin/access/apikey/"


@pytest.fixture
def committed(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def shown_key(html: str) -> str:
    found = re.search(r"<pre><code>(slc_[\w-]+)</code>", html)
    assert found
    return found[1]


def test_a_new_key_is_shown_once_and_works(admin_client: Client, committed: Any):
    with committed():
        page = admin_client.post(f"{KEYS}add/", {"name": "desk"}, follow=True).content.decode()
    secret = shown_key(page)
    assert caller_of_key(secret).name == "desk"
    key = ApiKey.objects.get(name="desk")
    assert page.count(secret) >= 4, "the secret, and the snippets with it"
    for address in (KEYS, f"{KEYS}{key.pk}/change/", f"{KEYS}{key.pk}/history/"):
        again = admin_client.get(address).content.decode()
        assert secret not in again
        assert key.digest not in again
    assert key.prefix in admin_client.get(KEYS).content.decode()


def test_changing_a_name_makes_no_new_key(admin_client: Client, committed: Any):
    with committed():
        key, secret = ApiKey.objects.issue("desk")
    with committed():
        page = admin_client.post(f"{KEYS}{key.pk}/change/", {"name": "front desk"}, follow=True).content.decode()
    assert "shown once" not in page
    assert caller_of_key(secret).name == "front desk"


def test_a_name_is_no_markup(admin_client: Client, committed: Any):
    with committed():
        page = admin_client.post(f"{KEYS}add/", {"name": "<script>alert(1)</script>"}, follow=True).content.decode()
    assert "<script>alert(1)</script>" not in page


def test_the_list_revokes_no_key_without_a_question(admin_client: Client, committed: Any):
    with committed():
        key, secret = ApiKey.objects.issue("one")
        ApiKey.objects.issue("other")[0].revoke()
    page = admin_client.get(KEYS).content.decode()
    assert page.count("Revoke…") == 1
    assert f'href="/admin/keys/{key.pk}/revoke/"' in page
    with committed():
        admin_client.post(KEYS, {"action": "revoke", "_selected_action": [key.pk]})
    assert caller_of_key(secret).name == "one"


def test_going_back_to_a_version_from_before_its_revocation_leaves_a_key_revoked(
    admin_client: Client, committed: Any, desk: tuple[ApiKey, str]
):
    key, secret = desk
    version = f"{KEYS}{key.pk}/history/{key.history.get().pk}/"
    with committed():
        key.name = "front desk"
        key.save()
        key.revoke()
    revoked_at = key.revoked_at
    assert "Revert" in admin_client.get(version).content.decode()
    with committed():
        assert admin_client.post(version, {"name": "desk", "_save": "Revert"}).status_code == 302
    key.refresh_from_db()
    assert (key.name, key.revoked_at) == ("desk", revoked_at)
    with pytest.raises(NotAuthenticated):
        caller_of_key(secret)


def test_a_key_cannot_be_deleted_there(admin_client: Client):
    key, _ = ApiKey.objects.issue("desk")
    assert admin_client.post(f"{KEYS}{key.pk}/delete/", {"post": "yes"}).status_code == 403
    admin_client.post(KEYS, {"action": "delete_selected", "_selected_action": [key.pk], "post": "yes"})
    assert ApiKey.objects.filter(pk=key.pk).exists()


# -- Tools ------------------------------------------------------------------------------------------


@pytest.fixture
def desk(committed: Any) -> tuple[ApiKey, str]:
    with committed():
        return ApiKey.objects.issue("desk")


def test_chosen_tools_are_obeyed_by_the_very_next_call(admin_client: Client, committed: Any, desk: tuple[ApiKey, str]):
    key, secret = desk
    chosen = {"tool_listing": "search", "pinned_tools": ["list_bookings"], "hidden_tools": ["get_listing"]}
    with committed():
        admin_client.post(f"{KEYS}{key.pk}/change/", {"name": "desk", **chosen})
    assert caller_of_key(secret).tools == ToolChoice("search", frozenset(["list_bookings"]), frozenset(["get_listing"]))
    page = admin_client.get(f"{KEYS}{key.pk}/change/").content.decode()
    assert '<option value="list_bookings" selected>list_bookings: List bookings</option>' in page
    assert 'value="search_tools"' not in page, "what finds tools is neither pinned nor hidden"


def test_a_tool_is_not_both_pinned_and_hidden(admin_client: Client, desk: tuple[ApiKey, str]):
    key, _ = desk
    chosen = {"pinned_tools": ["list_bookings", "get_booking"], "hidden_tools": ["get_booking"]}
    page = admin_client.post(f"{KEYS}{key.pk}/change/", {"name": "desk", **chosen}).content.decode()
    assert "Pinned and hidden at once: get_booking." in page
    key.refresh_from_db()
    assert (key.pinned_tools, key.hidden_tools) == ([], [])


def test_a_tool_that_no_longer_exists_is_shown_and_kept(admin_client: Client, committed: Any, desk: tuple[ApiKey, str]):
    key, secret = desk
    key.pinned_tools, key.hidden_tools = ["gone_list"], ["gone_action"]
    key.save()
    page = admin_client.get(f"{KEYS}{key.pk}/change/").content.decode()
    assert "gone_list (no longer exists)" in page
    with committed():
        admin_client.post(
            f"{KEYS}{key.pk}/change/",
            {"name": "desk", "pinned_tools": ["gone_list"], "hidden_tools": ["gone_action", "get_listing"]},
        )
    assert caller_of_key(secret).tools.hidden == {"gone_action", "get_listing"}
    assert caller_of_key(secret).tools.pinned == {"gone_list"}


def test_a_tool_that_never_existed_is_refused(admin_client: Client, desk: tuple[ApiKey, str]):
    key, _ = desk
    page = admin_client.post(f"{KEYS}{key.pk}/change/", {"name": "desk", "hidden_tools": ["nope"]}).content.decode()
    assert "nope is not one of the available choices" in page


def test_hiding_what_a_visible_list_points_to_is_saved_with_a_warning(
    admin_client: Client, committed: Any, desk: tuple[ApiKey, str]
):
    key, secret = desk
    for hidden, warned in (["get_booking"], True), (["get_booking", "list_bookings"], False):
        with committed():
            page = admin_client.post(
                f"{KEYS}{key.pk}/change/", {"name": "desk", "hidden_tools": hidden}, follow=True
            ).content.decode()
        assert ("With get_booking hidden, nothing opens the rows of list_bookings." in page) == warned
        assert caller_of_key(secret).tools.hidden == set(hidden)
