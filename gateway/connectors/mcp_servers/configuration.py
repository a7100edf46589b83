"""The configured servers: those in the deployer's file, and addresses from the admin. Only the file can contain
commands."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from gateway.upstreams.auth.authentication import NO_AUTHENTICATION, Authentication, authentication_of
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.connections import (
    FIELDS_OF_KIND,
    AuthKind,
    ClientPlace,
    Connection,
    authentication_problems,
    secret_problem,
    spelling_problem,
)

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
FROM_ENVIRONMENT = "env:"
CREDENTIAL_HEADER = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)
Pairs = tuple[tuple[str, str], ...]  # names and values, sorted by name
SHORTEST_SECRET = 6  # characters; shorter values also occur in harmless words


@dataclass(frozen=True)
class StdioServer:
    """A child process that speaks MCP on its stdin and stdout; no shell. `environment`: variables in addition to
    PATH, HOME and LANG."""

    name: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Pairs = field(default=(), repr=False)
    directory: str | None = None
    allow: tuple[str, ...] = ()  # name patterns of tools that are on at first, in addition to read-only tools

    @property
    def secrets(self) -> tuple[str, ...]:
        return _secret(value for _, value in self.environment)


@dataclass(frozen=True)
class HttpServer:
    """A server behind Streamable HTTP. `trusted`: the deployer configured it, so it may be in a private network.
    `connection`: how Sluice authenticates itself; None if it does not, or does so by `headers`."""

    name: str
    url: str
    headers: Pairs = field(default=(), repr=False)
    trusted: bool = False
    connection: Connection | None = None
    allow: tuple[str, ...] = ()  # as in StdioServer

    @property
    def authentication(self) -> Authentication:
        return _authentication(self.connection) if self.connection else NO_AUTHENTICATION

    @property
    def secrets(self) -> tuple[str, ...]:
        of_headers = (part for _, value in self.headers for part in (value, value.partition(" ")[2]))
        return _secret((*of_headers, *self.authentication.secrets))


@lru_cache(maxsize=256)
def _authentication(connection: Connection) -> Authentication:
    """Cached per connection, so that a token outlives the session that it was fetched for."""
    return authentication_of(connection)


Server = StdioServer | HttpServer


def _secret(values: Iterable[str]) -> tuple[str, ...]:
    """Longest first, so that a secret that contains a shorter one is masked as a whole."""
    return tuple(sorted({value for value in values if len(value) >= SHORTEST_SECRET}, key=len, reverse=True))


def from_file(path: str) -> tuple[Server, ...]:
    """The servers in the file, which is reread after it has changed. Empty without a path. Raises
    ImproperlyConfigured."""
    if not path:
        return ()
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError as error:
        raise _unreadable(path, error) from None
    return _read(path, changed)


_last_valid: dict[str, tuple[Server, ...]] = {}  # last valid content of each file


def last_valid(path: str) -> tuple[Server, ...]:
    """The servers in the file. One that has become invalid keeps its last valid content. Raises ImproperlyConfigured
    for a file that was never valid."""
    try:
        _last_valid[path] = from_file(path)
    except ImproperlyConfigured:  # `Refreshing` reports it
        if path not in _last_valid:
            raise
    return _last_valid[path]


@lru_cache(maxsize=4)
def _read(path: str, changed: int) -> tuple[Server, ...]:
    document = _parsed(path)
    servers = document.get("mcpServers")
    if set(document) != {"mcpServers"} or not isinstance(servers, dict):
        raise _misconfigured(f'the file {path} must be an object with one key, "mcpServers"')
    return tuple(_server(name, entry) for name, entry in sorted(servers.items()))


def _parsed(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text("utf-8")
        document = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError as error:
        raise _misconfigured(f"the file {path} cannot be read: {error}") from None
    return document if isinstance(document, dict) else {}


def _unreadable(path: str, error: OSError) -> ImproperlyConfigured:
    return _misconfigured(f"the file {path} cannot be read ({error.strerror})")


def _server(name: str, entry: Any) -> Server:
    where = f"mcpServers.{name}"
    if not NAME.fullmatch(name):
        raise _misconfigured(f"{where}: a name has 1 to 32 lower-case letters, digits, _ and -")
    if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
        raise _misconfigured(f"{where} must have either command or url")
    known = {"command", "args", "env", "cwd"} if "command" in entry else {"url", "headers", "authentication"}
    known |= {"allow"}
    if unknown := sorted(set(entry) - known):
        raise _misconfigured(f"{where}.{unknown[0]} is not a known key; the keys are: {', '.join(sorted(known))}")
    server = _command(name, entry, where) if "command" in entry else _address(name, entry, where)
    return replace(server, allow=_list_of_texts(entry.get("allow", []), f"{where}.allow"))


def _command(name: str, entry: Mapping[str, Any], where: str) -> StdioServer:
    return StdioServer(
        name,
        _text(entry["command"], f"{where}.command"),
        _list_of_texts(entry.get("args", []), f"{where}.args"),
        _texts(entry.get("env", {}), f"{where}.env"),
        _text(entry["cwd"], f"{where}.cwd") if "cwd" in entry else None,
    )


def _address(name: str, entry: Mapping[str, Any], where: str) -> HttpServer:
    url = _text(entry["url"], f"{where}.url")
    if problem := spelling_problem(url):
        raise _misconfigured(f"{where}.url: {problem.rstrip('.')}")
    headers = _headers(entry.get("headers", {}), f"{where}.headers")
    connection = None
    if "authentication" in entry:
        connection = _connection(name, url, entry["authentication"], f"{where}.authentication")
    return HttpServer(name, url, headers, trusted=True, connection=connection)


def _headers(values: Any, where: str) -> Pairs:
    """Rejects credentials in the file itself, as files are copied and shared."""
    headers = _texts(values, where)
    for name, _ in headers:
        if CREDENTIAL_HEADER.search(name) and not _names_a_variable(values[name]):
            raise _misconfigured(
                f"{where}.{name} must not contain a credential: name an environment variable, as env:NAME"
            )
    return headers


def _connection(name: str, url: str, entry: Any, where: str) -> Connection:
    """The connection that authenticates Sluice to a server: as in the admin, but with the secret from our
    environment."""
    if not isinstance(entry, dict) or entry.get("kind") not in tuple(AuthKind):
        raise _misconfigured(f"{where}.kind must be one of: {', '.join(AuthKind)}")
    kind = AuthKind(entry["kind"])
    fields = {_camel_case(field): field for field in FIELDS_OF_KIND[kind]}
    known = {"kind", *fields, *(() if kind is AuthKind.NONE else ("secret",))}
    if unknown := sorted(set(entry) - known):
        raise _misconfigured(f"{where}.{unknown[0]} is not a known key; the keys are: {', '.join(sorted(known))}")
    given: dict[str, Any] = {fields[key]: _text(entry[key], f"{where}.{key}") for key in fields if key in entry}
    if "client_place" in given:
        given["client_place"] = _client_place(given["client_place"], where)
    connection = Connection(name=name, base_url=url, kind=kind, **given)
    for field_name, problem in authentication_problems(connection, spelling_problem):
        raise _misconfigured(f"{where}.{_camel_case(field_name)}: {problem.rstrip('.')}")
    secret = _secret_of(entry, connection, where)
    return replace(connection, sealed_secret=vault().seal(secret) if secret else "")


def _client_place(word: str, where: str) -> ClientPlace:
    if word not in tuple(ClientPlace):
        raise _misconfigured(f"{where}.clientPlace must be one of: {', '.join(ClientPlace)}")
    return ClientPlace(word)


def _secret_of(entry: Mapping[str, Any], connection: Connection, where: str) -> str:
    if "secret" not in entry and not connection.needs_secret:
        return ""
    named = entry.get("secret")
    if not isinstance(named, str) or not named.startswith(FROM_ENVIRONMENT):
        raise _misconfigured(f"{where}.secret must name an environment variable, as env:NAME")
    secret = _from_environment(named, f"{where}.secret")
    if problem := secret_problem(connection.kind, connection.user_name, secret):
        raise _misconfigured(f"{where}.secret: {problem.rstrip('.')}")
    return secret


def _camel_case(field: str) -> str:
    """ "token_url" becomes "tokenUrl"."""
    first, *others = field.split("_")
    return "".join([first, *map(str.capitalize, others)])


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise _misconfigured(f"{where} must be a text")
    return value


def _list_of_texts(values: Any, where: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise _misconfigured(f"{where} must be a list of texts")
    return tuple(values)


def _texts(values: Any, where: str) -> Pairs:
    """Reads an object of strings. `env:NAME`, alone or after a word such as "Bearer ", is replaced by that environment
    variable."""
    if not isinstance(values, dict):
        raise _misconfigured(f"{where} must be an object of texts")
    places = {name: f"{where}.{name}" for name in sorted(values)}
    return tuple((name, _from_environment(_text(values[name], place), place)) for name, place in places.items())


def _from_environment(value: str, where: str) -> str:
    before, _, name = value.rpartition(FROM_ENVIRONMENT)
    if not _names_a_variable(value):
        return value
    if name not in os.environ:
        raise _misconfigured(f"{where} names the environment variable {name}, which is not set")
    return f"{before}{os.environ[name]}"


def _names_a_variable(value: str) -> bool:
    before, marked, _ = value.rpartition(FROM_ENVIRONMENT)
    return bool(marked) and (not before or before.endswith(" "))


def _misconfigured(sentence: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"MCP_SERVERS_FILE: {sentence}.")
