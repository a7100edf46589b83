"""Upstream APIs in the admin: a secret goes in, and comes out nowhere."""

import logging
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.db import connection
from django.test import Client

from gateway.upstreams.auth.vault import Vault, vault
from gateway.upstreams.models import UpstreamApi

pytestmark = pytest.mark.django_db

APIS = "/admin/upstreams/upstreamapi/"
CANARY = "canary-5b1e77c0a9-wxyz"
FIELDS = {
    "name": "acme",
    "base_url": "https://api.example.com/v1",
    "enabled": "on",
    "authentication": "bearer",
    "client_place": "header",
    "connect_seconds": "5",
    "read_seconds": "30",
    "total_seconds": "55",
    "most_megabytes": "16",
    "attempts": "3",
}
OAUTH = {"authentication": "client_credentials", "client_id": "me", "token_url": "https://login.example.com/token"}


def page_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def errors_of(response: Any) -> dict[str, list[str]]:
    return dict(response.context["adminform"].form.errors)


def stored() -> UpstreamApi:
    return UpstreamApi.objects.get()


def opened() -> str:
    return vault().open(stored().sealed_secret, upstream="acme")


@pytest.fixture
def acme(admin_client: Client) -> UpstreamApi:
    response = admin_client.post(f"{APIS}add/", {**FIELDS, "secret": CANARY})
    assert response.status_code == 302, errors_of(response)
    return stored()


def change(api: UpstreamApi) -> str:
    return f"{APIS}{api.pk}/change/"


def all_that_is_stored() -> str:
    with connection.cursor() as cursor:
        rows = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - tables of our own
            rows += [table, *map(repr, cursor.fetchall())]
    return "\n".join(rows)


@pytest.fixture
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """SQL with its parameters too."""
    for name in ("", "django.db.backends", *settings.LOGGING["loggers"]):
        caplog.set_level(logging.DEBUG, logger=name)
    before, connection.force_debug_cursor = connection.force_debug_cursor, True
    yield caplog
    connection.force_debug_cursor = before


def test_a_secret_is_nowhere_after_it_was_entered(admin_client: Client, everything_is_logged: pytest.LogCaptureFixture):
    pages = [admin_client.post(f"{APIS}add/", {**FIELDS, "secret": CANARY}, follow=True)]
    api = stored()
    assert opened() == CANARY
    another = {**FIELDS, **OAUTH, "secret": f"{CANARY}2"}
    pages.append(admin_client.post(change(api), another, follow=True))
    pages.append(admin_client.post(change(api), {**another, "name": "Not a name"}))
    version = api.history.first().pk
    for address in (APIS, change(api), f"{APIS}{api.pk}/history/", f"{APIS}{api.pk}/history/{version}/", "/admin/"):
        pages.append(admin_client.get(address))
    dump = StringIO()
    call_command("dumpdata", stdout=dump)
    stored_text = all_that_is_stored()
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in everything_is_logged.records)
    assert "upstreams_historicalupstreamapi" in stored_text
    assert "INSERT INTO" in logged
    assert "upstreams.upstreamapi" in dump.getvalue()
    assert CANARY not in stored_text
    assert CANARY not in logged
    assert CANARY not in dump.getvalue()
    assert not any(CANARY in response.content.decode() for response in pages)
    assert CANARY not in f"{stored()!r} {stored().__dict__} {stored().connection()!r}"


def test_the_history_has_not_even_the_sealed_secret(acme: UpstreamApi):
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM upstreams_historicalupstreamapi")
        history = repr(cursor.fetchall())
    assert "acme" in history
    assert acme.sealed_secret not in history


def test_the_form_says_what_is_stored_without_showing_it(admin_client: Client, acme: UpstreamApi):
    page = page_of(admin_client.get(change(acme)))
    assert f"set · ends in …wxyz · changed {acme.secret_changed_at:%Y-%m-%d}" in page
    assert acme.sealed_secret not in page


def test_of_a_short_secret_nothing_is_shown(admin_client: Client, acme: UpstreamApi):
    admin_client.post(change(acme), {**FIELDS, "secret": "short-wxyz"})
    page = page_of(admin_client.get(change(acme)))
    assert "set · changed " in page
    assert "wxyz" not in page


def test_an_empty_input_keeps_the_secret(admin_client: Client, acme: UpstreamApi):
    assert admin_client.post(change(acme), {**FIELDS, "attempts": "2", "secret": ""}).status_code == 302
    assert (stored().attempts, opened(), stored().secret_changed_at) == (2, CANARY, acme.secret_changed_at)


def test_a_new_secret_replaces_the_old_one(admin_client: Client, acme: UpstreamApi):
    assert admin_client.post(change(acme), {**FIELDS, "secret": " another-1\n"}).status_code == 302
    assert opened() == "another-1"


def test_a_tick_removes_the_secret_of_an_api_that_is_switched_off(admin_client: Client, acme: UpstreamApi):
    removing = {**FIELDS, "remove_secret": "on"}
    refused = admin_client.post(change(acme), removing)
    assert "Enter the secret" in errors_of(refused)["secret"][0]
    assert 'name="remove_secret"' in page_of(refused)
    assert opened() == CANARY
    del removing["enabled"]
    assert admin_client.post(change(acme), removing).status_code == 302
    assert stored().sealed_secret == ""
    assert "not set" in page_of(admin_client.get(change(acme)))


def test_a_secret_is_not_entered_and_removed_at_once(admin_client: Client, acme: UpstreamApi):
    response = admin_client.post(change(acme), {**FIELDS, "secret": "another", "remove_secret": "on"})
    assert "not both" in errors_of(response)["remove_secret"][0]
    assert opened() == CANARY


def test_a_form_with_a_mistake_stores_no_secret_and_shows_the_old_state(admin_client: Client, acme: UpstreamApi):
    response = admin_client.post(change(acme), {**FIELDS, "attempts": "99", "secret": "another-secret-abcd"})
    assert "Expected 1 to 5 attempts." in errors_of(response)["attempts"]
    assert "ends in …wxyz" in page_of(response)
    assert "abcd" not in page_of(response)
    assert opened() == CANARY


def test_an_address_on_another_server_asks_for_the_secret_again(admin_client: Client, acme: UpstreamApi):
    moved = {**FIELDS, "base_url": "https://evil.example.com"}
    assert "Enter the secret again" in errors_of(admin_client.post(change(acme), moved))["secret"][0]
    assert stored().base_url == FIELDS["base_url"]
    assert admin_client.post(change(acme), {**moved, "secret": "theirs"}).status_code == 302


def test_going_back_to_an_older_version_moves_no_secret_to_its_server(admin_client: Client, acme: UpstreamApi):
    admin_client.post(change(acme), {**FIELDS, "base_url": "https://new.example.com", "secret": "another"})
    first = acme.history.last().pk
    response = admin_client.post(f"{APIS}{acme.pk}/history/{first}/", FIELDS)
    assert stored().base_url == "https://new.example.com"
    assert "Enter the secret again" in page_of(response)


def test_a_secret_whose_key_is_gone_is_told_and_can_be_entered_again(admin_client: Client, acme: UpstreamApi):
    UpstreamApi.objects.update(sealed_secret=Vault(["another-key-" * 4]).seal(CANARY))
    assert "cannot be decrypted, its key is no longer configured: enter it again" in page_of(
        admin_client.get(change(acme))
    )
    assert admin_client.post(change(acme), {**FIELDS, "secret": "again"}).status_code == 302
    assert opened() == "again"


def test_a_secret_over_http_is_saved_with_a_warning(admin_client: Client):
    plain = {**FIELDS, "base_url": "http://api.example.com", "secret": CANARY}
    page = page_of(admin_client.post(f"{APIS}add/", plain, follow=True))
    assert "The secret of acme travels unencrypted" in page


def test_a_secret_that_cannot_be_sent_is_refused(admin_client: Client):
    response = admin_client.post(f"{APIS}add/", {**FIELDS, "secret": "Bearer abc"})
    assert "without the word “Bearer”" in errors_of(response)["secret"][0]
    assert not UpstreamApi.objects.exists()


def test_the_list_says_the_authentication_in_words(admin_client: Client, acme: UpstreamApi):
    page = page_of(admin_client.get(APIS))
    for words in ("acme", "https://api.example.com/v1", "Bearer token"):
        assert words in page


def test_inputs_say_which_authentication_they_are_for(admin_client: Client):
    page = page_of(admin_client.get(f"{APIS}add/"))
    assert 'data-shown-for="header query"' in page
    assert 'data-shown-for="basic"' in page
    assert 'src="/static/upstreams/authentication.js"' in page
    assert "<script>" not in page
    assert "style=" not in page


def test_the_history_says_that_a_secret_was_changed(admin_client: Client, acme: UpstreamApi):
    admin_client.post(change(acme), {**FIELDS, "secret": "another"})
    assert "Secret changed at" in page_of(admin_client.get(f"{APIS}{acme.pk}/history/"))


# -- Who may what -----------------------------------------------------------------------------------


def client_with(*permissions: str) -> Client:
    user = User.objects.create_user("ops", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_who_may_look_sees_no_inputs_and_no_secret(acme: UpstreamApi):
    client = client_with("view_upstreamapi")
    page = page_of(client.get(change(acme)))
    assert "set · ends in …wxyz" in page
    assert "field-secret_state" in page
    assert not any(f'field-{name}"' in page for name in ("secret", "remove_secret"))
    assert CANARY not in page
    assert acme.sealed_secret not in page
    assert client.post(change(acme), {**FIELDS, "secret": "another"}).status_code == 403
    version = client.get(f"{APIS}{acme.pk}/history/{acme.history.get().pk}/")
    assert 'value="Revert"' not in page_of(version)
    assert 'name="base_url"' not in page_of(version)
    assert CANARY not in page_of(version)


def test_who_may_change_enters_a_secret_without_seeing_the_old_one(acme: UpstreamApi):
    client = client_with("view_upstreamapi", "change_upstreamapi", "change_credentials")
    assert CANARY not in page_of(client.get(change(acme)))
    assert client.post(change(acme), {**FIELDS, "secret": "another"}).status_code == 302
    assert opened() == "another"


def test_who_may_nothing_is_refused(acme: UpstreamApi):
    client = client_with()
    assert client.get(change(acme)).status_code == 403
    assert client.get(APIS).status_code == 403


def test_where_nothing_is_stored_there_is_nothing_to_remove(admin_client: Client, acme: UpstreamApi):
    assert 'name="remove_secret"' not in page_of(admin_client.get(f"{APIS}add/"))
    assert 'name="remove_secret"' in page_of(admin_client.get(change(acme)))
