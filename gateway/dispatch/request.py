"""Prepares a call: validates its arguments and builds the request that protection answers."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from context_protection.core.list_positions import page_span
from context_protection.core.payloads import AnswerRequest
from context_protection.core.policy import Kind, Policy
from context_protection.core.redaction import Visibility
from context_protection.stores.snapshots import snapshots
from gateway.catalog.arguments import validated
from gateway.catalog.definition import SEARCH
from gateway.catalog.operation import Operation
from gateway.dispatch.call import Call
from gateway.dispatch.configuration import Configuration
from gateway.dispatch.response_cache import state_of
from gateway.dispatch.withheld_arguments import check_asking


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A valid call. `state` identifies the data that the answer will be made from; None: the answer is not cached.
    `cursor`: empty for a first page."""

    call: Call
    operation: Operation
    policy: Policy
    request: AnswerRequest
    state: Hashable
    configuration: Configuration
    arm: str = ""  # the caller's arm of a rollout or an experiment
    cursor: str = ""

    @property
    def visibility(self) -> Visibility:
        """Which fields of the answer's data the caller sees."""
        return self.call.caller.visibility(self.operation.name)


def prepare(call: Call, configuration: Configuration) -> PreparedCall:
    """Blocks only to read the snapshot of a cursor. Raises CallError."""
    operation = configuration.operations.get(call.operation, call.caller.tools.hidden)
    # The version is read before the data, so that a change in between makes the cached answer outdated.
    state = state_of(operation, configuration.revision) if configuration.is_current else None
    given = validated(operation, call.arguments)
    check_asking(operation, given, call.caller.visibility(operation.name))
    own = {name: value for name, value in given.items() if name not in operation.form_names}
    form = {name: value for name, value in operation.form_of(own).items() if name != "pages" or "cursor" not in given}
    form |= {name: value for name, value in given.items() if name in operation.form_names}
    request = _request(call, configuration, operation, form, own)
    policy, arm = configuration.budgets.applied(operation.name, call.caller.name)
    return PreparedCall(call, operation, policy, request, state, configuration, arm, given.get("cursor", ""))


def _request(
    call: Call, configuration: Configuration, operation: Operation, form: Mapping[str, Any], own: Mapping[str, Any]
) -> AnswerRequest:
    """The request for protection. With a cursor, it has the cursor's snapshot and the arguments of the first page."""
    snapshot, position, arguments = None, None, {**operation.defaults, **own}
    if "cursor" in form:
        snapshot, position = snapshots.resume(form["cursor"], operation.name, call.caller.owner, own)
        arguments = dict(snapshot.arguments)
    operations, hidden = configuration.operations, call.caller.tools.hidden
    record_operation = operations.find(operation.record_operation, hidden) if operation.record_operation else None
    return AnswerRequest(
        operation=operation.name,
        caller=call.caller.owner,
        hints=lambda name, more: _hint(call, operations.get(name), more),
        arguments=arguments,
        snapshot=snapshot,
        position=position,
        limit=form.get("limit"),
        fields=form.get("fields"),
        format=form.get("format"),
        search=arguments.get(SEARCH) if operation.takes_search else None,
        pages=page_span(form["pages"], with_cursor=snapshot is not None) if "pages" in form else None,
        result_operation="result_get" if "result_get" not in hidden else None,
        record_operation=record_operation.name if record_operation else None,
        record_arguments=_record_arguments(operation, record_operation, arguments) if record_operation else {},
        record_key=operation.record_key,
        record_is_row=operation.record_is_row,
        is_called_once=operation.is_called_once,
    )


def _record_arguments(operation: Operation, target: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments, in addition to the row's key, of the call that fetches one row of this list."""
    shared = {target_name: arguments[own] for target_name, own in operation.record_shared.items() if own in arguments}
    return {**shared, **({"fields": "all"} if target.kind is Kind.RECORD else {})}


def _hint(call: Call, operation: Operation, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The hint in the form of the caller's transport. Arguments that equal their defaults are omitted."""
    defaults = operation.defaults
    converted = {name: _as_taken(value, operation.parameters.get(name, {})) for name, value in arguments.items()}
    return call.hints(operation, {name: value for name, value in converted.items() if defaults.get(name) != value})


def _as_taken(value: Any, schema: Mapping[str, Any]) -> Any:
    """Converts a number to a string if the schema expects one: a row's key may be a number."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number and schema.get("type") == "string" else value
