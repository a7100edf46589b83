"""Imports a document in two steps: plans what would be stored, then stores it."""

import hashlib
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urljoin

import orjson
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import CharField, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone
from simple_history.utils import bulk_create_with_history, bulk_update_with_history

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument
from context_protection.core.inference.proposals import proposed
from context_protection.core.json_values import storable
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition import ToolDefinition
from gateway.catalog.definition_size import definition_tokens
from gateway.connectors import connectors
from gateway.connectors.openapi import operations
from gateway.connectors.openapi.document import documents, reader
from gateway.connectors.openapi.document.description import ApiDocument, DocumentedOperation, Server
from gateway.connectors.openapi.models import ImportedApi, ImportedOperation
from gateway.connectors.openapi.operations import tool_name
from gateway.connectors.openapi.request.credentials import Credentials, enter
from gateway.connectors.openapi.response.stored_shapes import document_of
from gateway.upstreams.addresses import check_url
from gateway.upstreams.connections import address_problem
from gateway.upstreams.errors import AddressRefused
from gateway.upstreams.models import UpstreamApi

AT_ONCE = 200  # rows per statement
_COMPARED = ("title", "description", "deprecated", "kind", "rows", "paging", "body", "path", "servers")
WRITTEN = ["name", "enabled", "is_gone", "tokens", "spec", "proposed", "learned", "listed"]


class Status(StrEnum):
    """The result of comparing an operation of a document with the stored one."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    GONE = "gone"


SHOWN_ORDER = (Status.CHANGED, Status.NEW, Status.GONE, Status.UNCHANGED)


@dataclass(frozen=True)
class Proposal:
    """One operation as it would be stored. `name` does not include the API's. Names and switches that ops staff have
    set are preserved. `changes`: the differences from the stored operation, in words. `operation` is None if the
    document no longer has it. `stored`: the database id, if it is stored."""

    key: str
    name: str
    status: Status
    operation: DocumentedOperation | None
    chosen: bool
    tokens: int = 0
    changes: tuple[str, ...] = ()
    stored: int | None = None


@dataclass(frozen=True)
class Plan:
    """The result of importing a document under a name, before it is stored."""

    name: str
    base_url: str
    source: str
    digest: str
    document: ApiDocument
    proposals: tuple[Proposal, ...]
    stored: ImportedApi | None = None
    problems: tuple[str, ...] = ()
    counts: Mapping[Status, int] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """Identifies the stored import: it changes whenever the API is imported again."""
        return _state(self.stored)

    @property
    def by_status(self) -> list[Proposal]:
        """The proposals in the order of previews: changed and new operations first."""
        return sorted(self.proposals, key=lambda each: SHOWN_ORDER.index(each.status))


def plan(data: bytes, *, name: str, source: str, base_url: str = "") -> Plan:
    """Plans an import. Reads the database, but does not write. Raises DocumentError."""
    document = reader.read(documents.parse(data))
    stored = ImportedApi.objects.filter(upstream__name=name).select_related("upstream").first()
    before = {row.key: row for row in stored.operations.all()} if stored else {}
    proposals = tuple(_proposals(name, document, before))
    address = base_url or (stored.upstream.base_url if stored else "") or default_address(document.servers, source)
    return Plan(
        name=name,
        base_url=address.rstrip("/"),
        source=source,
        digest=hashlib.sha256(data).hexdigest(),
        document=document,
        proposals=proposals,
        stored=stored,
        problems=tuple(_problems(name, address, proposals, is_new=stored is None)),
        counts={status: sum(each.status is status for each in proposals) for status in Status},
    )


def _state(api: ImportedApi | None) -> str:
    return api.imported_at.isoformat() if api else ""


def _proposals(api: str, document: ApiDocument, before: Mapping[str, ImportedOperation]) -> Iterator[Proposal]:
    taken = {row.name for row in before.values()}
    for operation in document.operations:
        row = before.get(operation.key)
        name = row.name if row else _free_name(operation.name, taken)
        taken.add(name)
        found = _changes(row.spec, _stored_form(operation)) if row else ()
        yield Proposal(
            key=operation.key,
            name=name,
            status=Status.NEW if row is None else Status.CHANGED if found or row.is_gone else Status.UNCHANGED,
            operation=operation,
            chosen=row.enabled if row else operation.is_on_at_first,
            tokens=cost(api, name, operation),
            changes=("is back",) if row and row.is_gone else found,
            stored=row.pk if row else None,
        )
    known = {operation.key for operation in document.operations}
    for key, row in before.items():
        if key not in known:
            yield Proposal(key, row.name, Status.GONE, None, chosen=row.enabled, tokens=0, stored=row.pk)


def _problems(name: str, address: str, proposals: Sequence[Proposal], *, is_new: bool) -> Iterator[str]:
    if is_new and (problem := api_name_problem(name)):
        yield problem
    if not address:
        yield "The document has no address of the API. Enter its base address."
    elif problem := address_problem(address):
        yield problem
    else:
        try:
            check_url(address)
        except AddressRefused as refused:
            yield f"{refused.message} {refused.suggestion}"
    if not any(each.operation for each in proposals):
        yield "The document describes no operation that can be called."


def default_address(servers: Sequence[Server], source: str) -> str:
    """The first usable server URL, with the defaults of its variables; a relative one is resolved against the
    document's own URL. Empty if there is none."""
    for server in servers:
        url = server.url
        for name, variable in server.variables.items():
            url = url.replace(f"{{{name}}}", variable.default)
        whole = urljoin(source, url) if source.startswith(("http://", "https://")) else url
        if whole.startswith(("http://", "https://")) and "{" not in whole:
            return whole
    return ""


def cost(api: str, name: str, operation: DocumentedOperation) -> int:
    """The size of the tool's definition in Claude's tokens."""
    drafted = ToolDefinition(
        name=tool_name(api, name),
        title=operation.title,
        description=operation.description,
        kind=operation.kind,
        parameters=operation.parameters,
        shown=operation.shown,
        required=operation.required,
    )
    return definition_tokens(drafted)


# -- Comparing -------------------------------------------------------------------------------------


def _stored_form(operation: DocumentedOperation) -> dict[str, Any]:
    """The part of an operation that its calls need. Response schemas only serve to propose a shape, so they are left
    out."""
    paging = operation.paging.document() if operation.paging else None
    needed = replace(operation, response=None, record_schema=None, paging=None)
    stored: dict[str, Any] = storable(orjson.loads(dumps(needed)))
    return {**stored, "paging": paging}


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """The changes in words: "argument limit is new", "description"."""
    before, now = old["parameters"], new["parameters"]
    arguments = [
        *(f"argument {name} is new" for name in now.keys() - before.keys()),
        *(f"argument {name} was removed" for name in before.keys() - now.keys()),
        *(f"argument {name} has changed" for name in now.keys() & before.keys() if now[name] != before[name]),
        *(f"{name} is now required" for name in {*new["required"]} - {*old["required"]} if name in before),
    ]
    return (*sorted(arguments), *(name for name in _COMPARED if old.get(name) != new.get(name)))


# -- Names ------------------------------------------------------------------------------------------


def _free_name(name: str, taken: Container[str]) -> str:
    """The name, with a number appended if it is taken."""
    if name not in taken:
        return name
    return next(each for number in range(2, 100_000) if (each := f"{name[:50]}_{number}") not in taken)


def api_name_problem(name: str) -> str | None:
    """Why no API can be imported under this name, for example because its tools would look like another source's; None
    if one can."""
    if name in {each.name for each in connectors()}:
        return f"Sluice itself uses the name {name}. Choose another, such as {name}_api."
    catalogue.refresh()
    imported_names = {each.name for each in operations.operations()}
    others = (each.name for each in catalogue if each.name not in imported_names)
    alike = next((each for each in others if each.startswith(f"{name}_")), None)
    if alike is None:
        return None
    return f"Tools of {name} would look like existing tools, such as {alike}. Choose another name."


def tool_name_problems(api: str, named: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each tool name in `named` that a tool of another API or connector has, on or off, or had until
    recently. `api`: the present name of the API whose tools get the names. `named`: the name that a person chose, by
    tool name. Blocks."""
    catalogue.refresh()
    stored = ImportedOperation.objects.filter(api__upstream__name=api).values_list("name", flat=True)
    own = {tool_name(api, name) for name in stored}
    off = {each.name for each in catalogue.switched_off}
    taken = {row.tool for connector in connectors() for row in connector.switches()} | off
    for tool, name in named.items():
        holder = catalogue.find(tool)
        if tool not in own and (tool in taken or (holder is not None and holder.name not in own)):
            yield f"{tool} is the name of another tool. Choose another name than {name}."


def name_problems(plan: Plan, named: Mapping[str, str]) -> list[str]:
    """Why operations cannot have the names in `named` (by key): at most ten sentences."""
    found = [f"{name!r} is the name of two operations." for name, times in Counter(named.values()).items() if times > 1]
    for name in {named[each.key]: None for each in plan.proposals if each.operation}:
        try:
            ImportedOperation._meta.get_field("name").clean(name, None)
        except ValidationError as error:
            found.append(f"{name[:60]!r}: {error.messages[0]}")
    tools = {tool_name(plan.name, name): name for name in named.values()}
    return [*found, *tool_name_problems(plan.name, tools)][:10]


# -- Storing ----------------------------------------------------------------------------------------


MEANWHILE = (
    "In the meantime somebody else has imported an API with this name. Review the differences, then import again."
)


def store(
    plan: Plan,
    *,
    chosen: Collection[str],
    names: Mapping[str, str] | None = None,
    credentials: Credentials | None = None,
) -> ImportedApi:
    """Stores a plan. `chosen`: keys of the operations that are switched on. `names`: names other than the proposed
    ones, by key. `credentials`: the connection's new ones; None leaves them unchanged. Unchanged operations are not
    written. Raises InvalidArgument if the plan has problems or the API was imported again since, and ValidationError
    for an invalid connection. Nothing is then stored."""
    named = {**{each.key: each.name for each in plan.proposals}, **(names or {})}
    if problem := next(iter((*plan.problems, *name_problems(plan, named))), None):
        raise InvalidArgument(problem, reason="import_problem", parameter="document")
    # The slow work is done before the transaction takes its locks.
    documented = {each.key: _document_values(each.operation) for each in plan.proposals if each.operation}
    try:
        with transaction.atomic():
            return _stored(plan, chosen, named, credentials, documented)
    except IntegrityError:  # a concurrent import has just taken the API's name or a tool's
        raise _meanwhile() from None


def _stored(
    plan: Plan,
    chosen: Collection[str],
    named: Mapping[str, str],
    credentials: Credentials | None,
    documented: Mapping[str, Mapping[str, Any]],
) -> ImportedApi:
    now = ImportedApi.objects.select_for_update(of=("self",)).filter(upstream__name=plan.name).first()
    if _state(now) != plan.state:
        raise _meanwhile()
    api, _ = ImportedApi.objects.update_or_create(
        upstream=_connected(plan, credentials),
        defaults={
            "title": plan.document.title[:200],
            "version": plan.document.version[:60],
            "source": plan.source[:500],
            "digest": plan.digest,
            "warnings": storable(list(plan.document.warnings)),
            "imported_at": timezone.now(),
        },
    )
    before = {row.key: row for row in api.operations.all()}
    stale = {key: _written(row) for key, row in before.items()}
    rows = [
        _row(before.get(each.key) or ImportedOperation(api=api, key=each.key), each, documented.get(each.key))
        for each in plan.proposals
    ]
    for row in (each for each in rows if not each.is_gone):
        row.name, row.enabled = named[row.key], row.key in chosen
    _write(rows, stale)
    return api


def _meanwhile() -> InvalidArgument:
    return InvalidArgument(MEANWHILE, reason="imported_meanwhile", parameter="document")


def _connected(plan: Plan, credentials: Credentials | None) -> UpstreamApi:
    """The API's connection, updated and saved."""
    upstream = UpstreamApi.objects.filter(name=plan.name).first() or UpstreamApi(name=plan.name)
    if upstream.pk is not None and upstream.base_url == plan.base_url and credentials is None:
        return upstream
    upstream.base_url = plan.base_url
    if credentials is not None:
        enter(upstream, credentials)
    upstream.full_clean()
    upstream.save()
    return upstream


def _write(rows: Sequence[ImportedOperation], stale: Mapping[str, tuple[Any, ...]]) -> None:
    """Writes the new rows, and those that differ from `stale` (the previous values, by key). Writes in bulk, since each
    single save would announce a new configuration to every process."""
    new = [row for row in rows if row.pk is None]
    changed = [row for row in rows if row.pk is not None and _written(row) != stale[row.key]]
    # Operations may swap names, so all changed names are freed first.
    moved = [row.pk for row in changed if row.name != stale[row.key][0]]
    ImportedOperation.objects.filter(pk__in=moved).update(name=Concat(Value("."), Cast("pk", CharField())))
    for row in changed:
        row.changed_at = timezone.now()
    bulk_update_with_history(changed, ImportedOperation, [*WRITTEN, "changed_at"], batch_size=AT_ONCE)
    bulk_create_with_history(new, ImportedOperation, batch_size=AT_ONCE)


def _written(row: ImportedOperation) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in WRITTEN)


def _row(row: ImportedOperation, proposal: Proposal, documented: Mapping[str, Any] | None) -> ImportedOperation:
    """The row, updated from the document. A removed operation keeps its name and its switch, in case it returns."""
    row.is_gone = documented is None
    if documented is not None:
        if row.listed and row.spec != documented["spec"]:  # its responses may differ now
            row.listed, row.learned = {}, {}
        row.tokens, row.spec, row.proposed = proposal.tokens, documented["spec"], documented["proposed"]
    return row


def _document_values(operation: DocumentedOperation) -> Mapping[str, Any]:
    return {"spec": _stored_form(operation), "proposed": _proposed(operation)}


def _proposed(operation: DocumentedOperation) -> dict[str, Any]:
    schema = operation.record_schema or operation.response
    return document_of(proposed([], schema)) if schema else {}
