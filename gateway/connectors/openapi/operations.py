"""The operations of imported APIs, as the catalogue offers them."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_protection.configuration.live import Live
from context_protection.core import field_selection
from context_protection.core.policy import Kind
from context_protection.core.shapes import Shape
from gateway.access.former_names import former_names, with_former
from gateway.catalog.operation import Operation, as_fresh_as_its_answer
from gateway.connectors.openapi.call import Calling
from gateway.connectors.openapi.document.description import DocumentedOperation, RowLookup
from gateway.connectors.openapi.document.paging import Paging
from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.response.stored_shapes import shape_of
from gateway.upstreams.connections import Connection
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain, upstream_of

READ_AT_ONCE = 200  # rows per query
LONGEST_TOOL_NAME = 64  # characters that clients accept


@dataclass(frozen=True, slots=True)
class _Stamp:
    """The inputs that an Operation was built from. While they stay the same, the object is reused. `opened_by`: the
    tool that fetches one of its rows. `former`: its former names."""

    changed_at: Any
    learned: bool
    listed: bool
    connection: Connection
    opened_by: str | None
    former: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Made:
    """`opening`: the key of the operation that fetches one of its rows."""

    stamp: _Stamp
    opening: str | None
    operation: Operation


_made: dict[int, _Made] = {}


def operations() -> Sequence[Operation]:
    """The operations that are switched on, of APIs that are switched on. Blocks."""
    return _live.fresh()


def _load() -> Sequence[Operation]:
    connections = {api.pk: api.connection() for api in UpstreamApi.objects.filter(enabled=True, imported__isnull=False)}
    rows = ImportedOperation.objects.filter(enabled=True, is_gone=False, api__upstream__in=connections)
    columns = ("pk", "api__upstream", "key", "name", "changed_at", "learned", "listed")
    found = list(rows.order_by("api__upstream__name", "name").values_list(*columns))
    tools = {(api, key): tool_name(connections[api].name, name) for _, api, key, name, *_ in found}
    former = former_names()
    made: dict[int, _Made] = {}
    for pk, api, key, _, changed_at, learned, listed in found:
        known = _made.get(pk)
        opened_by = tools.get((api, known.opening)) if known and known.opening else None
        before = former.get(tools[api, key], ())
        stamp = _Stamp(changed_at, bool(learned), bool(listed), connections[api], opened_by, before)
        if known and known.stamp == stamp:
            made[pk] = known
    missing = [pk for pk, *_ in found if pk not in made]
    for start in range(0, len(missing), READ_AT_ONCE):
        for row in ImportedOperation.objects.filter(pk__in=missing[start : start + READ_AT_ONCE]).select_related("api"):
            made[row.pk] = _make(row, connections[row.api.upstream_id], tools, former)
    retain({connection.name for connection in connections.values()})
    _made.clear()
    _made.update(made)
    return tuple(made[pk].operation for pk, *_ in found if pk in made)


def _make(
    row: ImportedOperation,
    connection: Connection,
    tools: Mapping[tuple[int, str], str],
    former: Mapping[str, tuple[str, ...]],
) -> _Made:
    opening = row.documented.opened_by
    opened_by = tools.get((row.api.upstream_id, opening.key)) if opening else None
    before = former.get(tool_name(connection.name, row.name), ())
    stamp = _Stamp(row.changed_at, bool(row.learned), bool(row.listed), connection, opened_by, before)
    operation = with_former(operation_of(row, connection, opened_by), before)
    return _Made(stamp, opening.key if opening else None, operation)


def operation_of(row: ImportedOperation, connection: Connection, opened_by: str | None) -> Operation:
    """The catalogue's operation for a stored one. `opened_by`: the tool that fetches one of its rows."""
    calling = calling_of(row, connection, opened_by)
    spec, name, shape = calling.spec, calling.name, calling.shape
    opening = spec.opened_by if opened_by else None
    row_fields = field_selection.names_in(row.row_fields)
    return Operation(
        name=name,
        title=row.title or spec.title,
        description=row.description or spec.description,
        kind=spec.kind,
        parameters=spec.parameters,
        shown=spec.shown,
        required=spec.required,
        takes_long_integers=True,
        takes_null=spec.takes_null,
        fetch=calling.fetch,
        endpoint=f"/api/v1/tools/{name}",
        tags=(connection.name, *spec.tags),
        route=f"{spec.method} {spec.path}",
        settings={} if connection.keep_seconds is None else {"cache_seconds": connection.keep_seconds},
        shape=shape,
        fills_pages=shape.fills_pages,
        # Not the learned fields, as responses must not change a tool list.
        field_names=tuple(row_fields or row.proposed.get("row", ())),
        version=as_fresh_as_its_answer if spec.is_safe else None,
        destructive=spec.method == "DELETE" if spec.kind is Kind.ACTION else None,
        idempotent=spec.method in ("PUT", "DELETE") if spec.kind is Kind.ACTION else None,
        pinned=row.pinned,
        record_operation=opened_by,
        record_key=(opening.argument, opening.field) if opening else ("id", "id"),
        record_shared=opening.shared if opening else {},
        record_is_row=False,
    )


def calling_of(row: ImportedOperation, connection: Connection, opened_by: str | None = None) -> Calling:
    """The parts that a call of the operation needs. `opened_by`: see `operation_of`."""
    spec = row.documented
    row_fields, preview_fields = field_selection.names_in(row.row_fields), field_selection.names_in(row.preview_fields)

    def shaped(known: Mapping[str, Any]) -> Shape:
        document = _with_key(known, spec.opened_by if opened_by else None)
        return shape_of(spec.name, document, row=row_fields, preview=preview_fields, sections=row.sections)

    return Calling(
        name=tool_name(connection.name, row.name),
        row=row.pk,
        spec=spec,
        base_url=connection.base_url,
        upstream=upstream_of(connection),
        shape=shaped(row.learned or row.proposed),
        shaped=shaped,
        paging=_paging(row, spec),
        paging_is_set=row.paging is not None,
        learns=not row.learned,
    )


def _with_key(shape: Mapping[str, Any], opening: RowLookup | None) -> Mapping[str, Any]:
    """The shape. If its row fields are known, they include the field that a row is fetched by."""
    fields = shape.get("row", [])
    is_missing = opening is not None and fields and opening.field not in fields
    return {**shape, "row": [opening.field, *fields]} if opening and is_missing else shape


def _paging(row: ImportedOperation, spec: DocumentedOperation) -> Paging | None:
    if spec.kind is not Kind.LIST or row.paging == {}:
        return None
    return spec.paging if row.paging is None else Paging.from_document(row.paging)


def tool_name(api: str, operation: str) -> str:
    """ "acme_list_customers": the API's name, then the operation's. A name that is too long ends with a digest."""
    name = f"{api}_{operation}"
    if len(name) <= LONGEST_TOOL_NAME:
        return name
    return f"{name[: LONGEST_TOOL_NAME - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


_live = Live(_load)
