"""Reads an OpenAPI document into operations that can be called.

Real documents have mistakes. A faulty operation is simplified or left out, and a warning names it. Reading an OpenAPI
3.x document never fails.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from context_protection.core.policy import Kind
from gateway.connectors.openapi.document import paging, servers
from gateway.connectors.openapi.document.arguments import Parameter, RequestBody, declared, read_body, read_parameters
from gateway.connectors.openapi.document.briefs import brief
from gateway.connectors.openapi.document.description import ApiDocument, DocumentedOperation, Place, Security, Server
from gateway.connectors.openapi.document.kinds import as_list, as_mapping
from gateway.connectors.openapi.document.paging import Paging, QueryParameter
from gateway.connectors.openapi.document.record_operations import linked
from gateway.connectors.openapi.document.references import References
from gateway.connectors.openapi.document.responses import DocumentedResponse, shown
from gateway.connectors.openapi.document.schemas import DEEPEST, Lean, Leaning, is_valid_schema, written
from gateway.connectors.openapi.document.wording import ToolNames, argument_name, first_sentence, opening, plain_text

METHODS = ("get", "post", "put", "patch", "delete")
NOT_CALLED = ("head", "options", "trace")
SAFE = frozenset({"get"})
TITLE_CHARS, DESCRIPTION_CHARS = 80, 300
LEAN_NODES = 300  # schemas of an operation's arguments; with more, fewer levels are shown
MAX_NODES = 600  # the same, at a depth of one level; with more, no level is shown
MAX_WARNINGS = 200
MAX_NAMED = 5
MAX_OPERATIONS = 5000


def read(document: Mapping[str, Any]) -> ApiDocument:
    """Reads what `documents.parse` returned. Never raises."""
    return _Reading(document).read()


@dataclass
class _Arguments:
    """The arguments collected so far, by name."""

    schemas: dict[str, Lean] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)

    def add(self, parameter: Parameter, schema: Lean) -> None:
        place = parameter.place
        name = argument_name(place.name or place.location, place.location, self.schemas)
        self.schemas[name], self.places[name] = schema, place
        if parameter.required:
            self.required.append(name)

    def needed(self, body: RequestBody | None) -> set[str]:
        """The names of the required arguments, and of those that a body requires if it is sent."""
        of_body = body.needed if body else ()
        in_body = {name for name, place in self.places.items() if place.location == "body" and place.name in of_body}
        return {*self.required, *in_body}


class _Reading:
    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document, self.references = document, References(document)
        self.names = ToolNames()
        self.sent, self.answered = (Leaning(self.references, sent=sent) for sent in (True, False))
        self.securities = servers.securities(self.references)
        self.credentials = [_place_of(each) for each in self.securities if each.kind == "apiKey"]
        self._warnings: list[str] = []

    def read(self) -> ApiDocument:
        info = as_mapping(self.document.get("info"))
        self._check_document()
        operations = tuple(linked(list(self._operations())))
        self._warnings += [f"{each.key}: {warning}" for each in operations for warning in each.warnings]
        return ApiDocument(
            title=plain_text(info.get("title"))[:TITLE_CHARS] or "API",
            version=str(info.get("version", ""))[:40],
            description=first_sentence(info.get("description"), DESCRIPTION_CHARS),
            servers=servers.read_servers(self.document.get("servers")),
            securities=self.securities,
            operations=operations,
            warnings=_bounded(self._warnings),
        )

    def _check_document(self) -> None:
        version = str(self.document.get("openapi"))
        if not version.startswith(("3.0", "3.1")) and version != "3":
            self._warnings.append(f"OpenAPI {version[:20]} is read as 3.1")
        if not isinstance(self.document.get("paths"), Mapping):
            self._warnings.append("the document has no paths: nothing can be called")
        if webhooks := as_mapping(self.document.get("webhooks")):
            self._warnings.append(f"left out {len(webhooks)} webhooks, which are called by the API")

    def _operations(self) -> Iterator[DocumentedOperation]:
        skipped: Counter[str] = Counter()
        count = 0
        for path, item, method, node in self._nodes(skipped):
            if count == MAX_OPERATIONS:
                self._warnings.append(f"only the first {MAX_OPERATIONS:,} operations are read")
                break
            key = f"{method.upper()} {path}"
            try:
                yield _OperationReader(self, key, path, item, method, node).read()
                count += 1
            except Exception as error:
                # An unexpected error loses one operation, not the document.
                self._warnings.append(f"{key}: left out, since it cannot be read ({type(error).__name__})")
        for method, times in skipped.items():
            self._warnings.append(
                f"left out {times} operations of {method.upper()}, whose responses have nothing to read"
            )

    def _nodes(self, skipped: Counter[str]) -> Iterator[tuple[str, Mapping[str, Any], str, Mapping[str, Any]]]:
        for path, given in as_mapping(self.document.get("paths")).items():
            if not isinstance(path, str) or path.startswith("x-"):
                continue
            if not path.isprintable():
                self._warnings.append("left out a path with characters that a URL cannot contain")
                continue
            item = self.references.resolved(given)
            skipped.update(method for method in NOT_CALLED if method in item)
            for method in METHODS:
                if isinstance(node := item.get(method), Mapping):
                    yield path, item, method, node


class _OperationReader:
    def __init__(
        self, reading: _Reading, key: str, path: str, item: Mapping[str, Any], method: str, node: Mapping[str, Any]
    ) -> None:
        self._reading, self._references = reading, reading.references
        self._key, self._path, self._item, self._method, self._node = key, path, item, method, node
        self._warnings: list[str] = []
        self._is_safe = method in SAFE

    def read(self) -> DocumentedOperation:
        self._references.take_broken()
        node = self._node
        answer = DocumentedResponse.of(self._references, self._reading.answered, node.get("responses"))
        given = self._parameters()
        query = self._optional_query(given)
        is_paged = paging.has_position(query)
        rows = answer.rows(self._path, is_paged=is_paged) if self._is_safe else None
        kind = answer.kind(rows, is_safe=self._is_safe)
        paged = paging.recognised(query, answer, rows) if rows is not None else None
        arguments, body = self._arguments([each for each in given if not _is_paged_by(paged, each)])
        leaning = self._reading.answered
        response = shown(leaning, answer.schema)
        record = shown(leaning, answer.row_schema(rows)) if rows is not None else None
        broken = self._references.take_broken()
        if broken:
            self._warnings.append(f"has references without a target: {', '.join(broken[:MAX_NAMED])[:300]}")
        operation_id = node.get("operationId")
        name = self._reading.names.take(str(operation_id or ""), self._method, self._path, kind)
        title = plain_text(node.get("summary"))[:TITLE_CHARS] or name.replace("_", " ").capitalize()
        return DocumentedOperation(
            key=self._key,
            method=self._method.upper(),
            path=self._path,
            name=name,
            title=title,
            description=self._description() or title,
            tags=tuple(str(tag)[:TITLE_CHARS] for tag in as_list(node.get("tags"))),
            deprecated=node.get("deprecated") is True,
            kind=kind,
            is_safe=self._is_safe,
            parameters=arguments.schemas,
            required=tuple(arguments.required),
            places=arguments.places,
            body=body.form if body else None,
            response=response,
            rows=rows,
            record_schema=record,
            paging=paged,
            servers=self._servers(),
            security=servers.requirements(node.get("security", self._reading.document.get("security"))),
            accept=answer.media_types,
            warnings=tuple(self._warnings),
            kind_is_unknown=kind is Kind.RECORD and answer.is_undocumented(is_paged=is_paged),
            shown=brief(arguments.schemas, arguments.needed(body)),
        )

    def _servers(self) -> tuple[Server, ...]:
        """The operation's own servers, or those of its path. Requests go to the API's base address all the same, which
        alone gets its credentials."""
        own = servers.read_servers(self._node.get("servers")) or servers.read_servers(self._item.get("servers"))
        known = {each.url.rstrip("/") for each in servers.read_servers(self._reading.document.get("servers"))}
        urls = [each.url for each in own]
        if urls and known and known.isdisjoint(url.rstrip("/") for url in urls):
            self._warnings.append(
                f"has a server of its own, {urls[0][:200]}: calls go to the API's base address instead"
            )
        return own

    def _description(self) -> str:
        node = self._node
        return (
            opening(node.get("summary"), DESCRIPTION_CHARS)
            or opening(node.get("description"), DESCRIPTION_CHARS)
            or opening(self._item.get("summary") or self._item.get("description"), DESCRIPTION_CHARS)
        )

    def _parameters(self) -> list[Parameter]:
        given = declared(self._item, self._node)
        found, warnings = read_parameters(self._references, self._path, given, self._reading.credentials)
        self._warnings += warnings
        return found

    def _optional_query(self, given: list[Parameter]) -> list[QueryParameter]:
        in_query = [each for each in given if each.place.location == "query" and not each.required]
        return [QueryParameter(each.name, self._references.merged(each.schema).schema) for each in in_query]

    # -- Arguments ----------------------------------------------------------------------------------

    def _arguments(self, given: list[Parameter]) -> tuple[_Arguments, RequestBody | None]:
        leaning, node = self._reading.sent, self._node.get("requestBody")
        body = read_body(self._references, node, leaning) if not self._is_safe else None
        if self._is_safe and node:
            self._warnings.append("its body is left out: a GET has none")
        every = [*given, *(body.parameters if body else ())]
        depth = self._depth(every)
        arguments = _Arguments()
        for each in every:
            arguments.add(each, self._lean(each, depth))
        if not is_valid_schema({"type": "object", "properties": arguments.schemas}):
            self._loosen(arguments)
        return arguments, body

    def _depth(self, every: list[Parameter]) -> int:
        """The greatest depth at which the schemas are few enough: a tool with too many is unusable."""
        leaning = self._reading.sent
        limits = [*((depth, LEAN_NODES) for depth in range(DEEPEST, 1, -1)), (1, MAX_NODES)]
        for depth, most in limits:
            if sum(leaning.size(each.schema, depth) for each in every) <= most:
                break
        else:
            depth = 0
        if depth < DEEPEST - 2:
            self._warnings.append(f"it has many arguments: only {depth} levels of them are shown")
        return depth

    def _lean(self, parameter: Parameter, depth: int) -> Lean:
        lean = self._reading.sent.lean(parameter.schema, depth)
        if not self._is_safe and "default" in lean:
            # The gateway sends defaults, so an update would set fields that the caller did not name.
            default = lean.pop("default")
            lean["description"] = f"{lean.get('description', '')} Default: {written(default)}.".strip()
        return lean

    def _loosen(self, arguments: _Arguments) -> None:
        """Allows any value for arguments whose schema is invalid, since such a schema cannot validate them."""
        for name, schema in arguments.schemas.items():
            if not is_valid_schema(schema):
                described = schema.get("description")
                arguments.schemas[name] = {"description": described} if isinstance(described, str) else {}
                self._warnings.append(f"the schema of {name} is invalid: any value is accepted")


def _is_paged_by(paged: Paging | None, parameter: Parameter) -> bool:
    return paged is not None and parameter.place.location == "query" and parameter.name in paged.parameters


def _place_of(security: Security) -> tuple[str, str]:
    return security.location, security.parameter


def _bounded(warnings: list[str]) -> tuple[str, ...]:
    if len(warnings) <= MAX_WARNINGS:
        return tuple(warnings)
    return (*warnings[:MAX_WARNINGS], f"and {len(warnings) - MAX_WARNINGS} more")
