"""An API as its document describes it. The reader produces these types, and requests are built from them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from context_protection.core.policy import Kind
from gateway.connectors.openapi.paging import Paging


class BodyKind(StrEnum):
    """How the arguments of a body are encoded."""

    JSON = "json"
    FORM = "form"
    MULTIPART = "multipart"
    TEXT = "text"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an argument goes. `location`: path, query, header, cookie or body. `style` and `explode` are OpenAPI's;
    `style` is "" if there is none, and "file" for a file in a multipart body. `media_type`: the type that the value is
    sent as, if it has one."""

    location: str
    name: str
    style: str = ""
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class BodyForm:
    """`media_type` is sent as Content-Type. `flattened`: the body's properties are separate arguments; otherwise the
    whole body is one argument, with the location body and an empty name."""

    kind: BodyKind
    media_type: str
    flattened: bool
    required: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a server's URL. Empty `choices` allow any value."""

    default: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """`url` may be relative, and may contain {variables}."""

    url: str
    variables: Mapping[str, Variable] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True, slots=True)
class Security:
    """A security scheme. `kind`: apiKey, basic, bearer, clientCredentials, authorizationCode, password, implicit,
    openIdConnect, mutualTLS, or the name of another HTTP scheme. `location` and `parameter` belong to apiKey,
    `token_url` and `scopes` to OAuth."""

    name: str
    kind: str
    location: str = ""
    parameter: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """How one row of a list is fetched alone: by the operation `key`, with the row's `field` as its `argument`.
    `shared` gives its other arguments: each has the value of the named argument of the list's call."""

    key: str
    argument: str
    field: str
    shared: Mapping[str, str]


@dataclass(frozen=True)
class DocumentedOperation:
    """`key`: "GET /v1/customers/{id}". `parameters`: JSON Schemas of the arguments, by name; `places`: where each goes.
    `rows`: the path of the array in a response, "" if the response is the array, None if it is not a list. `security`:
    alternatives, each with the names of the schemes that go together. `accept`: the documented media types of
    responses. `shown`: the shortened arguments for a tool list, if it needs them. `opened_by`: how one row is fetched
    alone. `tells_no_kind`: the document does not describe the response, so only a response shows whether it is a
    list."""

    key: str
    method: str
    path: str
    name: str
    title: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool
    kind: Kind
    is_safe: bool
    parameters: Mapping[str, Mapping[str, Any]]
    required: tuple[str, ...]
    places: Mapping[str, Place]
    body: BodyForm | None = None
    response: Mapping[str, Any] | None = None
    rows: str | None = None
    record_schema: Mapping[str, Any] | None = None
    paging: Paging | None = None
    servers: tuple[Server, ...] = ()
    security: tuple[tuple[str, ...], ...] = ()
    accept: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    shown: Mapping[str, Mapping[str, Any]] | None = None
    opened_by: Opening | None = None
    tells_no_kind: bool = False

    def document(self) -> dict[str, Any]:
        """As JSON types, for storage; `from_document` reads it back."""
        return {**asdict(self), "paging": self.paging.document() if self.paging else None}

    @classmethod
    def from_document(cls, stored: Mapping[str, Any]) -> "DocumentedOperation":
        body, paging = stored["body"], stored["paging"]
        read = {
            "kind": Kind(stored["kind"]),
            "places": {name: Place(**place) for name, place in stored["places"].items()},
            "body": BodyForm(**{**body, "kind": BodyKind(body["kind"])}) if body else None,
            "paging": Paging.from_document(paging) if paging else None,
            "servers": tuple(_server(each) for each in stored["servers"]),
            "opened_by": Opening(**opened_by) if (opened_by := stored.get("opened_by")) else None,
            "security": tuple(tuple(names) for names in stored["security"]),
            **{name: tuple(stored[name]) for name in ("tags", "required", "accept", "warnings")},
        }
        return cls(**{**stored, **read})


@dataclass(frozen=True)
class ApiDocument:
    title: str
    version: str
    description: str
    servers: tuple[Server, ...]
    securities: tuple[Security, ...]
    operations: tuple[DocumentedOperation, ...]
    warnings: tuple[str, ...]


def _server(stored: Mapping[str, Any]) -> Server:
    variables = {name: Variable(each["default"], tuple(each["choices"])) for name, each in stored["variables"].items()}
    return Server(stored["url"], variables, stored["description"])
