"""An API as its document describes it. The reader produces these types, and requests are built from them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from context_protection.core.policy import Kind
from gateway.connectors.openapi.document.kinds import is_nullable
from gateway.connectors.openapi.document.paging import Paging


class BodyKind(StrEnum):
    """The encoding of a body's arguments."""

    JSON = "json"
    FORM = "form"
    MULTIPART = "multipart"
    TEXT = "text"
    BINARY = "binary"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of an argument in the request.

    `location`: path, query, header, cookie or body. `style` and `explode` are OpenAPI's; `style` is "" if there is none
    and "file" for a file in a multipart body. `media_type`: the value's own media type, if it has one."""

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
class RowLookup:
    """The way to fetch a single row of a list: call the operation `key` with the row's `field` as `argument`. `shared`
    maps its other arguments to the arguments of the list's call that have the same values."""

    key: str
    argument: str
    field: str
    shared: Mapping[str, str]


STREAMS = frozenset({"text/event-stream", "application/json;stream=watch", "application/json-seq"})


@dataclass(frozen=True)
class DocumentedOperation:
    """`key`: "GET /v1/customers/{id}". `parameters`: JSON Schemas of the arguments, by name; `places`: where each goes.
    `rows`: the path of the array in a response, "" if the response is the array, None if it is not a list. `security`:
    alternatives, each with the names of the schemes that apply together. `accept`: the documented media types of
    responses. `shown`: the shortened arguments for a tool list, if needed. `opened_by`: how to fetch a single row.
    `kind_is_unknown`: the document does not describe the response, so only a response shows whether it is a list."""

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
    opened_by: RowLookup | None = None
    kind_is_unknown: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether a response may never end, which a tool call cannot show."""
        return "watch" in self.path.split("/") or (bool(self.accept) and set(self.accept) <= STREAMS)

    @property
    def is_on_at_first(self) -> bool:
        """Whether a new operation is switched on: it only reads, is not deprecated, and its response ends."""
        return self.is_safe and not self.deprecated and not self.is_stream

    @property
    def takes_null(self) -> frozenset[str]:
        """The arguments for which null is a value, such as that of a field to be emptied: nullable fields of a JSON
        body. Null for any other argument means that it is not given."""
        if self.body is None or self.body.kind is not BodyKind.JSON:
            return frozenset()
        return frozenset(
            name
            for name, place in self.places.items()
            if place.location == "body" and is_nullable(self.parameters.get(name, {}))
        )

    def document(self) -> dict[str, Any]:
        """The operation as JSON types, for storage; `from_document` reads it back."""
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
            "opened_by": RowLookup(**opened_by) if (opened_by := stored.get("opened_by")) else None,
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
