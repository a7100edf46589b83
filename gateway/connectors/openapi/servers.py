"""The servers and the security schemes that a document declares."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.description import Security, Server, Variable
from gateway.connectors.openapi.kinds import as_list, as_mapping
from gateway.connectors.openapi.parameters import TEMPLATE
from gateway.connectors.openapi.references import References
from gateway.connectors.openapi.texts import first_sentence

DESCRIPTION_CHARS = 120
_FLOWS = ("clientCredentials", "authorizationCode", "password", "implicit")
_VALUE = re.compile(r"[A-Za-z0-9._~:/-]*")


def read(given: Any) -> tuple[Server, ...]:
    """The servers of a document, a path or an operation."""
    nodes = [node for node in as_list(given) if isinstance(node, Mapping) and isinstance(node.get("url"), str)]
    return tuple(
        Server(node["url"].strip(), _variables(node), first_sentence(node.get("description"), DESCRIPTION_CHARS))
        for node in nodes
    )


def _variables(node: Mapping[str, Any]) -> dict[str, Variable]:
    declared = as_mapping(node.get("variables"))
    return {name: _variable(as_mapping(declared.get(name))) for name in TEMPLATE.findall(node["url"])}


def _variable(node: Mapping[str, Any]) -> Variable:
    choices = tuple(str(each) for each in as_list(node.get("enum")))
    default = node.get("default")
    return Variable(str(default) if default is not None else choices[0] if choices else "", choices)


def base_url(server: Server, values: Mapping[str, str] | None = None, document_url: str = "") -> str:
    """The server's URL with these values of its variables, or their defaults. A relative URL is resolved against the
    document's own. Raises InvalidArgument for a value that is missing or not allowed, and for a result that is not an
    HTTP URL."""
    url = TEMPLATE.sub(lambda match: _value(match[1], server, values or {}), server.url)
    whole = urljoin(document_url, url) if document_url else url
    if urlsplit(whole).scheme not in ("http", "https") or not urlsplit(whole).hostname:
        raise InvalidArgument(
            "The document does not say where the API is.",
            reason="no_base_url",
            parameter="base_url",
            value=whole,
            expected="an absolute URL of http or https",
            suggestion="Give the API's address as base URL, such as https://api.example.com/v1.",
        )
    return whole.rstrip("/")


def _value(name: str, server: Server, values: Mapping[str, str]) -> str:
    variable = server.variables.get(name, Variable(""))
    value = values.get(name, variable.default)
    is_allowed = value in variable.choices if variable.choices and name in values else bool(value)
    if not is_allowed or not _VALUE.fullmatch(value) or ".." in value:
        expected = f"one of: {', '.join(variable.choices)}" if variable.choices else "a part of the API's address"
        raise InvalidArgument(
            f"The server's {name} must be {expected}.",
            reason="invalid_server_variable",
            parameter=name,
            value=value,
            expected=expected,
            suggestion=f"Set {name}, as the API's provider has told you.",
        )
    return value


def securities(references: References) -> tuple[Security, ...]:
    """The document's security schemes, one for each OAuth flow."""
    schemes = as_mapping(as_mapping(references.document.get("components")).get("securitySchemes"))
    return tuple(each for name, node in schemes.items() for each in _read(str(name), references.resolved(node)))


def _read(name: str, node: Mapping[str, Any]) -> list[Security]:
    match node.get("type"):
        case "apiKey":
            return [Security(name, "apiKey", str(node.get("in", "header")), str(node.get("name", "")))]
        case "http":
            return [Security(name, str(node.get("scheme", "bearer")).lower())]
        case "oauth2":
            flows = as_mapping(node.get("flows"))
            return [_flow(name, kind, as_mapping(flows[kind])) for kind in _FLOWS if kind in flows]
        case "openIdConnect" | "mutualTLS" as kind:
            return [Security(name, str(kind))]
    return []


def _flow(name: str, kind: str, flow: Mapping[str, Any]) -> Security:
    scopes = tuple(str(scope) for scope in as_mapping(flow.get("scopes")))
    return Security(name, kind, token_url=str(flow.get("tokenUrl", "")), scopes=scopes)


def requirements(given: Any) -> tuple[tuple[str, ...], ...]:
    """The alternatives, each with the names of the schemes that go together. An empty one allows anonymous calls."""
    return tuple(tuple(str(name) for name in each) for each in as_list(given) if isinstance(each, Mapping))
