"""The servers' file: what it may hold, and a plain sentence for what it may not."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from gateway.connectors.mcp_servers.configuration import HttpServer, StdioServer, from_file

OAUTH = {"kind": "client_credentials", "clientId": "me", "tokenUrl": "https://login.x/token", "secret": "env:PATH"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def written(file: Path, servers: Any) -> str:
    file.write_text(json.dumps({"mcpServers": servers}))
    return str(file)


def test_commands_and_addresses_are_read(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FILES_TOKEN", "token-of-files")
    servers = {
        "files": {"command": "npx", "args": ["-y", "files"], "env": {"TOKEN": "env:FILES_TOKEN", "MODE": "ro"}},
        "docs": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer env:FILES_TOKEN"}},
    }
    assert from_file(written(file, servers)) == (
        HttpServer("docs", "https://example.com/mcp", (("Authorization", "Bearer token-of-files"),), trusted=True),
        StdioServer("files", "npx", ("-y", "files"), (("MODE", "ro"), ("TOKEN", "token-of-files"))),
    )


def test_toml_is_read_as_json_is(tmp_path: Path):
    path = tmp_path / "servers.toml"
    path.write_text('[mcpServers.files]\ncommand = "npx"\nargs = ["-y"]\n')
    assert from_file(str(path)) == (StdioServer("files", "npx", ("-y",)),)


def test_without_a_path_there_are_no_servers():
    assert from_file("") == ()


def test_a_changed_file_is_read_again_and_an_unchanged_one_not(file: Path):
    first = from_file(written(file, {"a": {"command": "x"}}))
    assert from_file(str(file)) is first
    written(file, {"b": {"command": "x"}})
    os.utime(file, ns=(1, 1))
    assert [server.name for server in from_file(str(file))] == ["b"]


@pytest.mark.parametrize(
    ("servers", "named"),
    [
        ({"A b": {"command": "x"}}, "mcpServers.A b"),
        ({"a": {}}, "mcpServers.a must have either command or url"),
        ({"a": {"command": "x", "url": "http://x"}}, "either command or url"),
        ({"a": {"command": ["x"]}}, "mcpServers.a.command"),
        ({"a": {"command": "x", "shell": True}}, "mcpServers.a.shell"),
        ({"a": {"command": "x", "args": "y"}}, "mcpServers.a.args"),
        ({"a": {"command": "x", "env": {"N": 1}}}, "mcpServers.a.env.N"),
        ({"a": {"command": "x", "env": {"N": "env:NOT_SET_ANYWHERE"}}}, "NOT_SET_ANYWHERE"),
        ({"a": {"command": "x", "headers": {}}}, "mcpServers.a.headers"),
        ({"a": {"url": "ftp://x/mcp"}}, "mcpServers.a.url"),
        ({"a": {"url": "https://user:canary@x/mcp"}}, "user name and password"),
        ({"a": {"url": "https://x/mcp#f"}}, "begins with #"),
        ({"a": {"url": "https://[x/mcp"}}, "is not an address"),
        ({"a": {"url": "https://x", "headers": {"Authorization": "Bearer canary"}}}, "headers.Authorization"),
        ({"a": {"url": "https://x", "headers": {"X-Api-Key": "canary"}}}, "as env:NAME"),
        ({"a": {"url": "https://x", "authentication": "bearer"}}, "authentication.kind"),
        ({"a": {"url": "https://x", "authentication": {"kind": "magic"}}}, "client_credentials"),
        ({"a": {"url": "https://x", "authentication": {"kind": "bearer"}}}, "authentication.secret"),
        ({"a": {"url": "https://x", "authentication": {"kind": "bearer", "secret": "canary"}}}, "as env:NAME"),
        ({"a": {"url": "https://x", "authentication": {"kind": "bearer", "secret": "env:NOT_SET"}}}, "NOT_SET"),
        ({"a": {"url": "https://x", "authentication": {"kind": "bearer", "token": "canary"}}}, "authentication.token"),
        ({"a": {"url": "https://x", "authentication": {"kind": "header", "secret": "env:PATH"}}}, "parameterName"),
        ({"a": {"url": "https://x", "authentication": {"kind": "bearer", "secret": "env:ODD"}}}, "has no spaces"),
        (
            {"a": {"url": "https://x", "authentication": {**OAUTH, "tokenUrl": "ftp://x"}}},
            "authentication.tokenUrl",
        ),
        (
            {"a": {"url": "https://x", "authentication": {**OAUTH, "clientPlace": "cookie"}}},
            "authentication.clientPlace",
        ),
        ([], "mcpServers"),
    ],
)
def test_what_is_odd_is_refused_by_name(file: Path, monkeypatch: pytest.MonkeyPatch, servers: Any, named: str):
    monkeypatch.setenv("ODD", "Bearer canary")
    with pytest.raises(ImproperlyConfigured) as refused:
        from_file(written(file, servers))
    assert named in str(refused.value)
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"servers": {}}', '{"mcpServers": {}, "more": 1}'])
def test_a_file_that_is_something_else_is_refused(file: Path, text: str):
    file.write_text(text)
    with pytest.raises(ImproperlyConfigured):
        from_file(str(file))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ImproperlyConfigured):
        from_file(str(tmp_path / "none.json"))


def test_secrets_are_not_shown_where_a_server_is(file: Path):
    servers = {
        "a": {"command": "x", "env": {"TOKEN": "canary-1"}},
        "b": {"url": "https://x", "headers": {"A": "canary-2"}},
    }
    assert "canary" not in repr(from_file(written(file, servers)))
