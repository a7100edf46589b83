"""An API as its document describes it: what reading gives, and what requests are built from."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from context_protection.core.policy import Kind
from gateway.connectors.openapi.paging import Paging


class BodyKind(StrEnum):
    """How the arguments of a body are written."""

    JSON = "json"
    FORM = "form"
    MULTIPART = "multipart"
    TEXT = "text"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an argument goes. `location`: path, query, header, cookie or body. `style` and `explode` as OpenAPI has
    them, and "" for what has none; "file" is a file of a multipart body. `media_type`: it is sent as one of these."""

    location: str
    name: str
    style: str = ""
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class BodyForm:
    """`media_type`: what is sent as Content-Type. `flattened`: its properties are arguments of their own; otherwise all
    of it is the argument whose place is the body and whose upstream name is empty."""

    kind: BodyKind
    media_type: str
    flattened: bool
    required: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """Of a server's URL. `choices` is empty where any value will do."""

    default: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Server:
    """`url` may be relative, and holds {variables}."""

    url: str
    variables: Mapping[str, Variable] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True, slots=True)
class Security:
    """A way to say who calls. `kind`: apiKey, basic, bearer, clientCredentials, authorizationCode, password, implicit,
    openIdConnect, mutualTLS, or another scheme of HTTP by its name. `location` and `parameter` are an apiKey's;
    `token_url` and `scopes` are OAuth's."""

    name: str
    kind: str
    location: str = ""
    parameter: str = ""
    token_url: str = ""
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opening:
    """How a row of a list is opened by itself: by the operation `key`, whose `argument` is the row's `field`; its other
    arguments are those of the list's call, by their names there."""

    key: str
    argument: str
    field: str
    shared: Mapping[str, str]


@dataclass(frozen=True)
class DocumentedOperation:
    """`key`: "GET /v1/customers/{id}". `parameters`: JSON Schemas of the arguments by name, `places`: where each goes.
    `rows`: the path of the array in an answer ("" where the answer is one), None where there is none. `security`:
    alternatives, each the names of those that go together. `accept`: the media types that it says it answers with.
    `shown`: the arguments as a list of tools has them, where it has less of them. `opened_by`: what opens one
    of a list's rows. `tells_no_kind`: the document does not say what is answered; a list is known by its answers."""

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
        """As JSON's own types, to be kept; `from_document` reads it back."""
        return {**asdict(self), "paging": self.paging.document() if self.paging else None}

    @classmethod
    def from_document(cls, kept: Mapping[str, Any]) -> "DocumentedOperation":
        body, paging = kept["body"], kept["paging"]
        read = {
            "kind": Kind(kept["kind"]),
            "places": {name: Place(**place) for name, place in kept["places"].items()},
            "body": BodyForm(**{**body, "kind": BodyKind(body["kind"])}) if body else None,
            "paging": Paging.from_document(paging) if paging else None,
            "servers": tuple(_server(each) for each in kept["servers"]),
            "opened_by": Opening(**opened_by) if (opened_by := kept.get("opened_by")) else None,
            "security": tuple(tuple(names) for names in kept["security"]),
            **{name: tuple(kept[name]) for name in ("tags", "required", "accept", "warnings")},
        }
        return cls(**{**kept, **read})


@dataclass(frozen=True)
class ApiDocument:
    title: str
    version: str
    description: str
    servers: tuple[Server, ...]
    securities: tuple[Security, ...]
    operations: tuple[DocumentedOperation, ...]
    warnings: tuple[str, ...]


def _server(kept: Mapping[str, Any]) -> Server:
    variables = {name: Variable(each["default"], tuple(each["choices"])) for name, each in kept["variables"].items()}
    return Server(kept["url"], variables, kept["description"])
