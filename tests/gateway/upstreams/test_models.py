"""Upstream APIs as rows: what is refused with which words, and what the hot path reads of them."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from context_protection.configuration.revisions import revisions
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.connections import (
    AuthKind,
    ClientPlace,
    Connection,
    address_problem,
    origin,
    secret_problem,
)
from gateway.upstreams.models import UpstreamApi

pytestmark = pytest.mark.django_db

OAUTH = {
    "authentication": "client_credentials",
    "client_id": "me",
    "token_url": "https://login.example.com/token?tenant=1",
}


def api(secret: str = "", **fields: Any) -> UpstreamApi:
    made = UpstreamApi(**{"name": "acme", "base_url": "https://api.example.com/v1", **fields})
    if secret:
        made.set_secret(secret)
    return made


def saved(secret: str = "", **fields: Any) -> UpstreamApi:
    made = api(secret, **fields)
    made.full_clean()
    made.save()
    return made


def refusals(made: UpstreamApi) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as refused:
        made.full_clean()
    return refused.value.message_dict


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"name": "Acme"}, "name", "small letters"),
        ({"name": "1st"}, "name", "beginning with a letter"),
        ({"name": "acme\n"}, "name", "small letters"),
        ({"name": "a" * 33}, "name", "at most 32 characters"),
        ({"base_url": "ftp://example.com"}, "base_url", "begins with https:// or http://"),
        ({"base_url": "api.example.com"}, "base_url", "begins with https:// or http://"),
        ({"base_url": "https://"}, "base_url", "begins with https:// or http://"),
        ({"base_url": "https://user:pw@example.com"}, "base_url", "Remove the user name and password"),
        ({"base_url": "https://example.com/?key=1"}, "base_url", "Remove the part of the address from ? on"),
        ({"base_url": "https://example.com/#a"}, "base_url", "Remove the part of the address that begins with #"),
        ({"base_url": "https://example.com/a b"}, "base_url", "no spaces"),
        ({"base_url": "https://example.com\\@evil.com"}, "base_url", "no spaces, line breaks or backslashes"),
        ({"base_url": "https://example.com:99999"}, "base_url", "not an address"),
        ({"base_url": "https://[::1"}, "base_url", "not an address"),
        ({"authentication": "header"}, "parameter_name", "Enter the header"),
        ({"authentication": "header", "parameter_name": "X Key"}, "parameter_name", "letters, digits and hyphens"),
        ({"authentication": "header", "parameter_name": "X:\r\nEvil"}, "parameter_name", "letters, digits and hyphens"),
        ({"authentication": "header", "parameter_name": "Content-Length"}, "parameter_name", "set by Sluice itself"),
        ({"authentication": "query"}, "parameter_name", "Enter the parameter"),
        ({"authentication": "basic", "user_name": "a:b"}, "user_name", "no colon"),
        ({**OAUTH, "client_id": ""}, "client_id", "Enter the client id"),
        ({**OAUTH, "token_url": ""}, "token_url", "Enter the address that issues tokens"),
        ({**OAUTH, "token_url": "file:///etc/passwd"}, "token_url", "begins with https:// or http://"),
        ({"authentication": "bearer"}, "secret", "Enter the secret"),
        ({"connect_seconds": 0}, "connect_seconds", "Expected 0.1 to 60 seconds"),
        ({"total_seconds": 601}, "total_seconds", "Expected 0.1 to 600 seconds"),
        ({"read_seconds": 60.5}, "read_seconds", "60.5 seconds are longer than a whole call may take (55)"),
        ({"most_megabytes": 0}, "most_megabytes", "Expected 1 to 256 megabytes"),
        ({"attempts": 6}, "attempts", "Expected 1 to 5 attempts"),
        ({"rate_calls": 5}, "rate_seconds", "within which this number"),
        ({"rate_seconds": 5}, "rate_calls", "how many calls"),
        ({"keep_seconds": 86_401}, "keep_seconds", "Expected 0 to 86,400 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_field(fields: dict[str, Any], field: str, words: str):
    assert words in " ".join(refusals(api(**fields))[field])


def test_a_name_stands_for_one_api():
    saved()
    assert "name" in refusals(api())


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"base_url": "http://198.51.45.7:9000"},
        {"authentication": "header", "parameter_name": "Authorization", "secret": "Token abc"},
        {"authentication": "query", "parameter_name": "appid", "secret": "s"},
        {"authentication": "basic", "user_name": "jane"},
        {"authentication": "basic", "secret": "sk_live_1:"},
        {**OAUTH, "secret": "s"},
        {"authentication": "bearer", "enabled": False},
        {"rate_calls": 15, "rate_seconds": 10, "keep_seconds": 0},
    ],
)
def test_what_makes_sense_is_saved(fields: dict[str, Any]):
    assert saved(**fields).pk


@pytest.mark.parametrize("field", ["base_url", "token_url"])
def test_a_private_address_is_saved_only_where_the_deployer_allows_it(settings: Any, field: str):
    fields = {**OAUTH, "secret": "s", field: "http://127.0.0.1:9000"}
    with pytest.raises(ValidationError, match="private or reserved") as refused:
        saved(**fields)
    assert list(refused.value.message_dict) == [field]
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    assert saved(**fields).pk


def test_a_slash_at_the_end_of_the_address_is_taken_off():
    assert saved(base_url="https://api.example.com/v1/").base_url == "https://api.example.com/v1"


def test_what_another_authentication_needs_is_emptied():
    made = saved("s", **OAUTH, parameter_name="X-Key", user_name="jane", client_place="body")
    assert (made.parameter_name, made.user_name, made.client_place) == ("", "", "body")
    made.authentication = "bearer"
    made.set_secret("another")
    made.full_clean()
    assert (made.client_id, made.token_url, made.client_place) == ("", "", "header")


def test_without_authentication_no_secret_is_kept():
    made = saved("s", authentication="bearer")
    made.authentication = "none"
    made.full_clean()
    assert made.sealed_secret == ""


# -- Secrets ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://evil.example.com/v1"},
        {"base_url": "http://api.example.com/v1"},
        {"base_url": "https://api.example.com:444/v1"},
        {"token_url": "https://evil.example.com/token"},
        {"authentication": "bearer"},
    ],
)
def test_a_secret_is_not_sent_to_another_server_than_it_was_entered_for(change: dict[str, str]):
    """Else whoever may change an address could read the secret there."""
    made = saved("s", **OAUTH)
    for field, value in change.items():
        setattr(made, field, value)
    assert "Enter the secret again" in refusals(made)["secret"][0]
    made.set_secret("s")
    made.full_clean()


def test_an_address_on_the_same_server_may_change():
    made = saved("s", **OAUTH)
    made.base_url, made.token_url = "https://API.example.com:443/v2", "https://login.example.com/v2/token"
    made.full_clean()


def test_a_removed_secret_leaves_nothing_behind():
    made = saved("s", authentication="bearer")
    made.remove_secret()
    made.enabled = False
    made.full_clean()
    made.save()
    assert UpstreamApi.objects.get().sealed_secret == ""


@pytest.mark.parametrize(
    ("kind", "user", "secret", "words"),
    [
        (AuthKind.NONE, "", "abc", "no secret is sent"),
        (AuthKind.BEARER, "", "a\nb", "line breaks"),
        (AuthKind.CLIENT_CREDENTIALS, "", "a\x00b", "control characters"),
        (AuthKind.HEADER, "", "ключ", "ASCII"),
        (AuthKind.BEARER, "", "Bearer abc", "without the word “Bearer”"),
        (AuthKind.BASIC, "", "abc", "user:password"),
    ],
)
def test_a_secret_that_cannot_be_sent_is_refused_without_being_repeated(
    kind: AuthKind, user: str, secret: str, words: str
):
    problem = secret_problem(kind, user, secret)
    assert problem is not None
    assert words in problem
    assert "abc" not in problem


@pytest.mark.parametrize(
    ("kind", "user", "secret"),
    [
        (AuthKind.HEADER, "", "Token a b"),
        (AuthKind.QUERY, "", "ключ"),
        (AuthKind.BASIC, "jane", "p ä"),
        (AuthKind.BASIC, "", "sk_live_1:"),
        (AuthKind.CLIENT_CREDENTIALS, "", "a b"),
    ],
)
def test_a_secret_that_can_be_sent_is_not(kind: AuthKind, user: str, secret: str):
    assert secret_problem(kind, user, secret) is None


# -- What the hot path reads ------------------------------------------------------------------------


def test_a_connection_has_all_that_ops_have_set():
    fields = {
        "base_url": "https://api.example.com/v1",
        "client_id": "me",
        "token_url": "https://login.example.com/token",
        "scope": "read write",
        "audience": "https://a",
        "connect_seconds": 1.0,
        "read_seconds": 2.0,
        "total_seconds": 3.0,
        "most_megabytes": 4,
        "attempts": 1,
        "rate_calls": 5,
        "rate_seconds": 6,
        "keep_seconds": 7,
    }
    made = saved("hunter2", **fields, authentication="client_credentials", client_place="body")
    (read,) = UpstreamApi.objects.connections()
    assert vault().open(read.sealed_secret, upstream="acme") == "hunter2"
    expected = Connection(
        name="acme",
        kind=AuthKind.CLIENT_CREDENTIALS,
        client_place=ClientPlace.BODY,
        sealed_secret=made.sealed_secret,
        **fields,  # type: ignore[arg-type]
    )
    assert read == expected


def test_the_defaults_of_a_row_are_those_of_a_connection():
    assert api().connection() == Connection(name="acme", base_url="https://api.example.com/v1")


def test_only_enabled_apis_are_connected_to():
    saved(name="on")
    saved(name="off", enabled=False)
    assert [each.name for each in UpstreamApi.objects.connections()] == ["on"]


def test_a_change_is_seen_by_every_process(django_capture_on_commit_callbacks: Any):
    before = revisions.current()
    with django_capture_on_commit_callbacks(execute=True):
        made = saved()
    after_saving = revisions.current()
    with django_capture_on_commit_callbacks(execute=True):
        made.delete()
    assert before < after_saving < revisions.current()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://API.Example.com/v1", "https://api.example.com"),
        ("http://127.0.0.1:9000/x?y", "http://127.0.0.1:9000"),
        ("https://example.com.:443", "https://example.com"),
        ("https://example.com:x", ""),
        ("file:///etc", ""),
        ("", ""),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, expected: str):
    assert origin(url) == expected


def test_a_token_address_may_have_a_query():
    assert address_problem("https://login.example.com/token?grant=account") is None


@pytest.mark.parametrize("fields", [{"authentication": "weird"}, {"total_seconds": None}, {"connect_seconds": "soon"}])
def test_values_that_are_not_possible_at_all_are_refused_too(fields: dict[str, Any]):
    assert list(refusals(api(**fields))) == list(fields)
