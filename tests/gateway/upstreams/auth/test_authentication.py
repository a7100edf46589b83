"""Each kind of authentication in a request, and errors for credentials that are missing or cannot be opened."""

import base64
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from gateway.upstreams.auth.authentication import authentication_of
from gateway.upstreams.auth.vault import CredentialLost, Vault, vault
from gateway.upstreams.connections import AuthKind, Connection
from gateway.upstreams.errors import (
    AddressRefused,
)
from gateway.upstreams.request import Request, Response

BASE = "https://api.example.com/v1"
SECRET = "canary-9f3c1d7e55"
REFUSED = Response(401, {}, b"")


def connection(kind: AuthKind, secret: str = SECRET, **fields: Any) -> Connection:
    sealed = vault().seal(secret) if secret else ""
    return Connection(**{"name": "acme", "base_url": BASE, "kind": kind, "sealed_secret": sealed, **fields})


async def no_send(request: Request) -> Response:
    pytest.fail(f"nothing is fetched, and {request.url} was")


async def applied(connection: Connection, request: Request | None = None) -> Request:
    return await authentication_of(connection).apply(request or Request("GET", f"{BASE}/items?a=1"), no_send)


# -- Kinds that never change ------------------------------------------------------------------------


async def test_without_authentication_a_request_stays_as_it_is():
    request = Request("GET", "https://anywhere.example.com/x?b=%20", {"A": "b"})
    assert await applied(connection(AuthKind.NONE, secret=""), request) == request


async def test_a_key_goes_into_its_header_instead_of_another_of_the_same_name():
    request = Request("GET", f"{BASE}/items", {"x-api-key": "the caller's", "Accept": "a/b"})
    sent = await applied(connection(AuthKind.HEADER, parameter_name="X-API-Key"), request)
    assert sent.headers == {"Accept": "a/b", "X-API-Key": SECRET}
    assert request.headers["x-api-key"] == "the caller's"


async def test_a_key_in_the_query_is_encoded_and_stands_there_once():
    url = f"{BASE}/items?q=a%2Fb+c&api%5Fkey=theirs&api_key=again&empty="
    sent = await applied(connection(AuthKind.QUERY, "k&e=y/ ü+%", parameter_name="api_key"), Request("GET", url))
    assert sent.url == f"{BASE}/items?q=a%2Fb+c&empty=&api_key=k%26e%3Dy%2F%20%C3%BC%2B%25"
    assert dict(parse_qsl(urlsplit(sent.url).query))["api_key"] == "k&e=y/ ü+%"


async def test_a_key_in_the_query_of_an_address_without_one():
    sent = await applied(connection(AuthKind.QUERY, parameter_name="key"), Request("GET", f"{BASE}/items"))
    assert sent.url == f"{BASE}/items?key={SECRET}"


async def test_a_bearer_token():
    assert (await applied(connection(AuthKind.BEARER))).headers["Authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize(
    ("user", "secret", "pair"),
    [("jürgen", "pä:ss", "jürgen:pä:ss"), ("", "sk_live_1:", "sk_live_1:"), ("jane", "", "jane:")],
)
async def test_user_name_and_password_are_utf8(user: str, secret: str, pair: str):
    sent = await applied(connection(AuthKind.BASIC, secret, user_name=user))
    scheme, encoded = sent.headers["Authorization"].split()
    assert (scheme, base64.b64decode(encoded).decode()) == ("Basic", pair)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (AuthKind.HEADER, {"parameter_name": "X-Key"}),
        (AuthKind.QUERY, {"parameter_name": "k"}),
        (AuthKind.BEARER, {}),
    ],
)
async def test_what_never_changes_is_not_renewed(kind: AuthKind, fields: dict[str, str]):
    assert not await authentication_of(connection(kind, **fields)).renewed(REFUSED, no_send)


@pytest.mark.parametrize(
    ("kind", "fields", "masked"),
    [
        (AuthKind.HEADER, {"parameter_name": "X-Key"}, {"a b/c=d"}),
        (AuthKind.QUERY, {"parameter_name": "k"}, {"a b/c=d", "a%20b%2Fc%3Dd"}),
        (AuthKind.BASIC, {"user_name": "jane"}, {"a b/c=d", base64.b64encode(b"jane:a b/c=d").decode()}),
        (AuthKind.CLIENT_CREDENTIALS, {"client_id": "me"}, {"a b/c=d", "a+b%2Fc%3Dd"}),
    ],
)
def test_every_spelling_of_a_secret_is_masked(kind: AuthKind, fields: dict[str, str], masked: set[str]):
    secrets = authentication_of(connection(kind, "a b/c=d", **fields)).secrets
    assert masked <= set(secrets)
    assert all(secrets)


@pytest.mark.parametrize("kind", AuthKind)
def test_nothing_that_can_be_printed_has_the_secret(kind: AuthKind):
    made = connection(kind, parameter_name="X-Key", user_name="jane", client_id="me")
    assert made.sealed_secret not in repr(made)
    assert SECRET not in f"{made!r} {authentication_of(made)!r} {made}"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example.com/v1/items",
        "http://api.example.com/v1/items",
        "https://api.example.com:8443/v1",
        "https://api.example.com@evil.example.com/v1",
        "https://api.example.com.evil.example.com/",
        "//api.example.com/v1",
        "https://api.example.com:99999/",
    ],
)
async def test_a_credential_goes_to_its_own_server_only(url: str):
    with pytest.raises(AddressRefused, match="acme") as refused:
        await applied(connection(AuthKind.BEARER), Request("GET", url))
    assert SECRET not in str(refused.value.document())


async def test_another_spelling_of_its_own_server_is_its_own():
    for url in ("https://API.example.com/x", "https://api.example.com:443/x", "https://api.example.com./x"):
        assert (await applied(connection(AuthKind.BEARER), Request("GET", url))).headers


async def test_a_credential_that_cannot_be_opened_is_told_by_its_calls():
    sealed = Vault(["another-key-" * 4]).seal(SECRET)
    authentication = authentication_of(connection(AuthKind.BEARER, sealed_secret=sealed))
    with pytest.raises(CredentialLost, match="acme cannot be decrypted"):
        await authentication.apply(Request("GET", BASE), no_send)
    assert not await authentication.renewed(REFUSED, no_send)


async def test_a_credential_that_was_not_entered_is_told_by_its_calls():
    with pytest.raises(CredentialLost, match="has not been entered"):
        await applied(connection(AuthKind.BEARER, secret=""))
