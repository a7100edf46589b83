"""The two operations of a field table: its list, and one record by its id."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from context_protection.configuration.revisions import contents
from context_protection.core.errors import InvalidArgument, NotFound
from context_protection.core.payloads import Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.redaction import Visibility
from context_protection.orm.querysets import Whole
from context_protection.orm.statements import statement
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Operation
from gateway.connectors.hostaway import former_parameters, freshness, originals
from gateway.connectors.hostaway.field_table import FieldTable, ordered
from gateway.connectors.hostaway.freshness import DatedRows

AS_STORED = Whole()


def operations(table: FieldTable) -> list[Operation]:
    """list_<name>s and get_<name>."""
    return [_list_operation(table), _record_operation(table)]


def not_found(what: str, identifier: Any, list_operation: str) -> NotFound:
    return NotFound(
        f"There is no {what} {identifier}.",
        reason="not_found",
        parameter="id",
        value=identifier,
        expected=f"the id of a {what}",
        suggestion=find_id(list_operation),
    )


def find_id(list_operation: str) -> str:
    return f"Find the id with {list_operation}."


def _list_operation(table: FieldTable) -> Operation:
    return Operation(
        name=f"list_{table.name}s",
        title=f"List {table.name}s",
        description=table.list_description,
        kind=Kind.LIST,
        parameters={**table.parameters, **former_parameters.PARAMETERS},
        plain=frozenset(table.parameters),
        without_effect=frozenset(former_parameters.PARAMETERS),
        examples=table.examples,
        aliases=table.parameter_aliases,
        compares=table.compares,
        shape=table.shape,
        order_names=table.order_names,
        fetch=partial(_list, table),
        version=contents.current,
        is_redacted=True,
        endpoint=f"/api/v1/{table.name}s",
        record_operation=f"get_{table.name}",
        field_names=tuple(field.name for field in table.shape.row),
    )


def _record_operation(table: FieldTable) -> Operation:
    return Operation(
        name=f"get_{table.name}",
        title=f"Get a {table.name}",
        description=table.record_description,
        kind=Kind.RECORD,
        parameters={"id": {"type": "integer", "minimum": 1, "description": f"The {table.name}'s id."}},
        plain=frozenset({"id"}),
        required=("id",),
        sources={"id": find_id(f"list_{table.name}s")},
        fetch=partial(_record, table),
        version=contents.current,
        is_redacted=True,
        endpoint=f"/api/v1/{table.name}s/{{id}}",
        shape=table.shape,
        field_names=tuple(table.shape.section_names),
    )


def _list(table: FieldTable, arguments: Mapping[str, Any], caller: Caller) -> Payload:
    _check_ranges(table, arguments)
    return DatedRows(
        table.model._default_manager.filter(*table.conditions(arguments)),
        shape=table.shape,
        columns=replace(table.columns, whole=_whole(caller)) if caller.reveal else table.columns,
        order=ordered(arguments["order"], table.orders, table.model),
        queryable=table.query_columns.seen_by(Visibility(caller.reveal)) if caller.reveal else table.query_columns,
        compared=table.compared(arguments),
        given=table.given(arguments),
        notes=former_parameters.notes(arguments),
    )


def _record(table: FieldTable, arguments: Mapping[str, Any], caller: Caller) -> Payload:
    whole = _whole(caller)
    found = statement(table.model, whole.columns, 1, by="id").rows([arguments["id"]])
    if not found:
        raise not_found(table.name, arguments["id"], f"list_{table.name}s")
    return Record(whole.read(*found[0]), table.shape, note=freshness.note(table.model))


def _whole(caller: Caller) -> Whole:
    """Stored objects as shown to the caller: redacted, except for the fields that its key reveals."""
    if not caller.reveal:
        return AS_STORED
    return Whole(("data", "sealed"), partial(originals.restored, visibility=Visibility(caller.reveal)))


def _check_ranges(table: FieldTable, arguments: Mapping[str, Any]) -> None:
    for low, high in table.ranges:
        if low in arguments and high in arguments and arguments[low] > arguments[high]:
            raise InvalidArgument(
                f"{low} ({arguments[low]}) is above {high} ({arguments[high]}): nothing can match.",
                reason="invalid_range",
                parameter=low,
                value=arguments[low],
                expected=f"at most {high}",
                suggestion=f"Exchange {low} and {high}.",
            )
