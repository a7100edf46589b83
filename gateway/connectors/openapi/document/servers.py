"""The servers and the security schemes that a document declares."""

from collections.abc import Mapping
from typing import Any

from gateway.connectors.openapi.document.arguments import TEMPLATE
from gateway.connectors.openapi.document.description import Security, Server, Variable
from gateway.connectors.openapi.document.kinds import as_list, as_mapping
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.wording import first_sentence

DESCRIPTION_CHARS = 120
_FLOWS = ("clientCredentials", "authorizationCode", "password", "implicit")


def read_servers(given: Any) -> tuple[Server, ...]:
    """Reads the `servers` of a document, a path or an operation."""
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
    if default is None:
        default = choices[0] if choices else ""
    return Variable(str(default), choices)


def securities(references: References) -> tuple[Security, ...]:
    """The document's security schemes. A scheme with several OAuth flows gives one Security for each flow."""
    schemes = as_mapping(as_mapping(references.document.get("components")).get("securitySchemes"))
    return tuple(each for name, node in schemes.items() for each in _security(str(name), references.resolved(node)))


def _security(name: str, node: Mapping[str, Any]) -> list[Security]:
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
    """Reads a `security` list. Each item is one way to authenticate: the names of the schemes that it takes together.
    An empty item allows anonymous calls."""
    return tuple(tuple(str(name) for name in each) for each in as_list(given) if isinstance(each, Mapping))
