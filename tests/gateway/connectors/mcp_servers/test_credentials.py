"""How Sluice is let in by servers that want to know who calls: over the SDK and real HTTP, and said nowhere."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.management import call_command
from django.test import Client
from mcp import MCPError

from context_protection.configuration.revisions import revisions
from gateway.connectors.mcp_servers import authentication, errors, registry
from gateway.connectors.mcp_servers.configuration import HttpServer, from_file
from gateway.connectors.mcp_servers.models import McpServer
from gateway.connectors.mcp_servers.sessions import ServerSessions
from gateway.connectors.mcp_servers.wire import BUSY
from gateway.upstreams.auth.rotation import count_by_key, rotate
from gateway.upstreams.auth.vault import Vault, vault
from gateway.upstreams.connections import AuthKind, Connection
from gateway.upstreams.errors import UpstreamCredentials, UpstreamError, UpstreamUnavailable
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.quota import UNKNOWN_WAIT
from tests.patience import PATIENCE
from tests.simulators.bad_upstream import bad_upstream
from tests.simulators.mcp_server import mcp_server
from tests.simulators.token_server import TokenServer, token_server

CANARY = "canary-5b1e77c0a9-wxyz"
ADD = "/admin/mcp_servers/mcpserver/add/"
FIELDS = {"name": "web", "url": "https://example.com/mcp", "enabled": "on", "client_place": "header"}
Headers = dict[str, str]


class Gate:
    """Who is let in by a server, and who came."""

    def __init__(self, opens: Callable[[Headers], bool]) -> None:
        self.opens, self.seen = opens, list[Headers]()

    def __call__(self, headers: Headers) -> bool:
        self.seen.append(headers)
        return self.opens(headers)


@pytest.fixture
def sessions() -> Iterator[ServerSessions]:
    opened = ServerSessions()
    yield opened
    async_to_sync(opened.close)()


@pytest.fixture
def tokens() -> Iterator[TokenServer]:
    with token_server() as server:
        yield server


def address(url: str, kind: AuthKind, secret: str = CANARY, **fields: Any) -> HttpServer:
    connection = Connection(name="web", base_url=url, kind=kind, sealed_secret=vault().seal(secret), **fields)
    return HttpServer("web", url, trusted=True, connection=connection)


def bearer(token: str) -> Callable[[Headers], bool]:
    return lambda headers: headers.get("authorization") == f"Bearer {token}"


def server_for(gate: Gate, era: str = "") -> AbstractContextManager[str]:
    return mcp_server(admits=gate, era=era)


async def small(sessions: ServerSessions, server: HttpServer) -> Any:
    return json.loads((await sessions.call(server, "small", {})).content[0].text)["id"]


@pytest.mark.parametrize("era", ["", "2025"])
@pytest.mark.parametrize(
    ("kind", "fields", "opens"),
    [
        (AuthKind.BEARER, {}, bearer(CANARY)),
        (
            AuthKind.HEADER,
            {"parameter_name": "X-API-Key"},
            lambda headers: headers.get("x-api-key") == CANARY,
        ),
        (AuthKind.QUERY, {"parameter_name": "key"}, lambda headers: headers["?"] == f"key={CANARY}"),
        (
            AuthKind.BASIC,
            {"user_name": "me"},
            lambda headers: headers.get("authorization", "").startswith("Basic bWU6Y2"),
        ),
    ],
)
async def test_a_server_that_wants_a_credential_is_given_it(
    sessions: ServerSessions, kind: AuthKind, fields: Any, opens: Callable[[Headers], bool], era: str
):
    gate = Gate(opens)
    with server_for(gate, era) as url:
        assert await small(sessions, address(url, kind, **fields)) == 7
        assert all(map(opens, gate.seen))
        with pytest.raises(UpstreamCredentials):
            await sessions.call(HttpServer("none", url, trusted=True), "small", {})
        await sessions.close()


async def test_a_wrong_credential_is_told_as_such_also_when_it_is_tried_again(
    sessions: ServerSessions, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG)
    with server_for(Gate(bearer("another"))) as url:
        server = address(url, AuthKind.BEARER)
        for _ in range(4):
            with pytest.raises(UpstreamCredentials) as refused:
                await sessions.call(server, "small", {})
        error = refused.value.document()["error"]
    assert error["reason"] == "upstream_credentials"
    assert "operator" in error["data"]["suggestion"]
    assert CANARY not in f"{error} {caplog.text} {[record.__dict__ for record in caplog.records]}"


def oauth(url: str, tokens: TokenServer) -> HttpServer:
    return address(url, AuthKind.CLIENT_CREDENTIALS, client_id="me", token_url=tokens.url, scope="tools")


async def test_a_token_is_fetched_once_for_all_calls(sessions: ServerSessions, tokens: TokenServer):
    gate = Gate(bearer("token-1"))
    with server_for(gate) as url:
        server = oauth(url, tokens)
        assert [await small(sessions, server) for _ in range(3)] == [7, 7, 7]
        await sessions.close()
        assert await small(sessions, server) == 7  # a new session, and still the same token
        await sessions.close()
    (asked,) = tokens.requests
    assert asked.form["scope"] == "tools"
    assert CANARY not in json.dumps(gate.seen)


async def test_a_token_that_is_refused_is_renewed_once_and_the_call_repeated(
    sessions: ServerSessions, tokens: TokenServer
):
    gate = Gate(bearer("token-1"))
    with server_for(gate) as url:
        server = oauth(url, tokens)
        assert await small(sessions, server) == 7
        token = server.authentication.authentication._token  # type: ignore[attr-defined]
        object.__setattr__(token, "issued_at", token.issued_at - 60)  # a minute old
        gate.opens = bearer("token-2")
        assert await small(sessions, server) == 7
        assert len(tokens.requests) == 2
        gate.opens = bearer("another")
        with pytest.raises(UpstreamCredentials):
            await sessions.call(server, "small", {})
        assert len(tokens.requests) == 2  # a new one is not the problem
        await sessions.close()


@pytest.mark.parametrize(("status", "kind"), [(401, UpstreamCredentials), (503, UpstreamUnavailable)])
async def test_where_no_token_is_had_the_server_is_not_asked(
    sessions: ServerSessions,
    tokens: TokenServer,
    status: int,
    kind: type[UpstreamError],
    caplog: pytest.LogCaptureFixture,
):
    gate = Gate(bearer("token-1"))
    tokens.status, tokens.answer = status, {"error": "invalid_client", "error_description": f"no {CANARY}"}
    with server_for(gate) as url:
        with pytest.raises(kind) as refused:
            await sessions.call(oauth(url, tokens), "small", {})
        assert gate.seen == []
    said = f"{refused.value.document()} {[record.__dict__ for record in caplog.records]}"
    assert f"The token endpoint of web answered {status}." in said
    assert CANARY not in said


async def test_a_token_that_comes_by_the_drop_is_given_up(sessions: ServerSessions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(authentication, "DEFAULT_LIMITS", CallLimits(total_seconds=0.2))
    gate = Gate(bearer("token-1"))
    with server_for(gate) as url, bad_upstream() as issuer:
        server = address(url, AuthKind.CLIENT_CREDENTIALS, client_id="me", token_url=f"{issuer.url}/drip")
        with pytest.raises(UpstreamUnavailable, match="the token endpoint for its credentials does not answer"):
            await asyncio.wait_for(sessions.call(server, "small", {}), PATIENCE)
    assert gate.seen == []


async def test_what_a_server_repeats_of_its_token_is_masked(sessions: ServerSessions, tokens: TokenServer):
    with server_for(Gate(bearer("token-1"))) as url:
        server = oauth(url, tokens)
        await small(sessions, server)
        assert {CANARY, "token-1"} <= set(server.secrets)


# -- A server that has had too many requests --------------------------------------------------------


@pytest.mark.parametrize("era", ["", "2025"])
async def test_a_busy_server_says_when_to_call_again_and_what_is_left(sessions: ServerSessions, era: str):
    busy: dict[str, str] = {}
    with mcp_server(busy=busy, era=era) as url:
        server = HttpServer("web", url, trusted=True)
        assert await small(sessions, server) == 7
        busy |= {"Retry-After": "17", "X-RateLimit-Remaining": "0", "X-RateLimit-Limit": "60"}
        with pytest.raises(UpstreamUnavailable) as refused:
            await sessions.call(server, "small", {})
        error = refused.value.document()["error"]
        assert (error["reason"], error["data"]["retry_after"]) == ("upstream_busy", 17)
        assert error["data"]["capacity"] == {"remaining": 0, "limit": 60}
        await sessions.close()
        with pytest.raises(UpstreamUnavailable) as unconnected:
            await sessions.call(server, "small", {})
        assert (unconnected.value.reason, unconnected.value.retry_after) == ("upstream_busy", 17)
        busy.clear()
        assert await small(sessions, server) == 7


@pytest.mark.parametrize("data", [None, {"retryAfter": "soon", "capacity": {"remaining": "many", "x": 1}}, [1]])
def test_a_server_cannot_put_anything_else_into_that_error(data: Any):
    error = errors.refused(HttpServer("web", "http://web"), MCPError(BUSY, "busy", data))
    assert (error.retry_after, error.capacity or {}) == (UNKNOWN_WAIT, {})


# -- In the admin -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_ops_enter_a_credential_that_is_shown_nowhere(admin_client: Client, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with server_for(Gate(bearer(CANARY))) as url:
        fields = {**FIELDS, "url": url, "authentication": "bearer"}
        saved = admin_client.post(ADD, {**fields, "secret": CANARY}, follow=True)
        stored = McpServer.objects.get()
        revisions.bump()
        (server,) = registry.servers()
        opened = ServerSessions()
        assert async_to_sync(small)(opened, server) == 7  # type: ignore[arg-type]
        async_to_sync(opened.close)()
    change = f"/admin/mcp_servers/mcpserver/{stored.pk}/change/"
    pages = [saved, admin_client.get(change), admin_client.get(f"/admin/mcp_servers/mcpserver/{stored.pk}/history/")]
    assert "set · ends in …wxyz" in pages[1].content.decode()
    assert "The secret of web travels unencrypted" in saved.content.decode()
    dump = StringIO()
    call_command("dumpdata", stdout=dump)
    seen = [*(page.content.decode() for page in pages), dump.getvalue(), repr(server), repr(stored.__dict__)]
    assert not any(CANARY in each for each in seen)
    assert not any(stored.sealed_secret in repr(version.__dict__) for version in stored.history.all())


@pytest.mark.django_db
def test_a_credential_does_not_move_to_another_server(admin_client: Client):
    fields = {**FIELDS, "authentication": "bearer"}
    admin_client.post(ADD, {**fields, "secret": CANARY})
    change = f"/admin/mcp_servers/mcpserver/{McpServer.objects.get().pk}/change/"
    refused = admin_client.post(change, {**fields, "url": "https://elsewhere.example/mcp"})
    assert "Enter the secret again" in refused.content.decode()
    assert McpServer.objects.get().url == FIELDS["url"]
    assert admin_client.post(change, {**fields, "url": "https://example.com/mcp/v2"}).status_code == 302


@pytest.mark.django_db
def test_credentials_of_servers_are_rotated_with_all_others(settings: Any):
    server = McpServer(name="web", url="https://example.com/mcp", authentication="bearer")
    server.sealed_secret = Vault([settings.SECRET_KEY]).seal(CANARY)
    server.save()
    settings.CREDENTIAL_KEYS = ["a newer key of 32 characters, 1 2 3"]
    former = count_by_key().former  # with what Hostaway's store seals
    assert (count_by_key().newest, former >= 1) == (0, True)
    assert rotate().former == former
    assert (count_by_key().newest, count_by_key().former) == (former, 0)
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key of 32 characters, 1 2 3", []
    server.refresh_from_db()
    assert vault().open(server.sealed_secret, upstream="web") == CANARY


# -- In the file ------------------------------------------------------------------------------------


async def test_the_file_names_variables_of_the_environment(
    sessions: ServerSessions, tokens: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WEB_SECRET", CANARY)
    gate = Gate(bearer("token-1"))
    with server_for(gate) as url:
        file = tmp_path / "servers.json"
        authentication = {
            "kind": "client_credentials",
            "clientId": "me",
            "tokenUrl": tokens.url,
            "clientPlace": "body",
            "secret": "env:WEB_SECRET",
        }
        file.write_text(json.dumps({"mcpServers": {"web": {"url": url, "authentication": authentication}}}))
        (server,) = from_file(str(file))
        assert isinstance(server, HttpServer)
        assert await small(sessions, server) == 7
        await sessions.close()
    assert tokens.requests[0].form["client_secret"] == CANARY
    assert CANARY not in repr(server)
