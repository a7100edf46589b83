"""The data that a preview protects: that of a recorded call, read again or from its snapshot, or a pasted response."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

from asgiref.sync import async_to_sync

from context_protection.core import json_limits
from context_protection.core.cursors import Snapshot
from context_protection.core.errors import CallError, InvalidArgument, InvalidCursor
from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import AnswerRequest, Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.protect import needs_no_fetch, stored_payload
from context_protection.core.records import stored_value
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.upstream_pages import PagedRows, PageSource, SourcePage, is_growing, stored_pages
from context_protection.stores.snapshots import snapshots
from gateway.access.transports import Transport
from gateway.catalog.caller import Caller
from gateway.catalog.operation import Fetch, FetchAsync, Fetched, NativeResult, Operation
from gateway.dispatch import configuration, errors, hints
from gateway.dispatch.call import Call
from gateway.dispatch.request import PreparedCall, prepare
from gateway.staff.preview.answers import PreviewSource
from gateway.upstreams import usage

LONGEST_PASTED = 2_000_000  # characters
AGGREGATE = "aggregate"


class RememberedPages:
    """An upstream's pages, each read once, because two policies ask for the same ones."""

    def __init__(self, source: PageSource) -> None:
        self._source = source
        self._pages: dict[tuple[str, int], SourcePage] = {}

    async def page(self, token: Any, size: int) -> SourcePage:
        key = repr(token), size
        if key not in self._pages:
            self._pages[key] = await self._source.page(token, size)
        return self._pages[key]


# -- Read again -------------------------------------------------------------------------------------


def read_again(operation: Operation, arguments: Mapping[str, Any], caller: Caller) -> PreviewSource:
    """Fetches what a reading operation returns now. It is recorded nowhere. Blocks. Raises CallError."""
    if operation.kind is Kind.ACTION:
        raise InvalidArgument(
            f"{operation.name} changes something, so a preview never calls it.",
            reason="tool_acts",
            parameter="operation",
            value=operation.name,
            expected="an operation that only reads",
        )
    prepared = prepared_for(operation, arguments, caller)
    payload = _fetched(prepared)
    where = "the upstream" if operation.is_async else "Sluice's own store"
    return PreviewSource(prepared.request, payload, f"Read again from {where} just now.")


def prepared_for(operation: Operation, arguments: Mapping[str, Any], caller: Caller) -> PreparedCall:
    """Raises CallError for invalid arguments."""
    call = Call(operation.name, dict(arguments), caller, Transport.REPLAY, hints.mcp)
    return prepare(call, configuration.current())


def _fetched(prepared: PreparedCall) -> Payload | NativeResult:
    operation, arguments, caller = prepared.operation, prepared.request.arguments, prepared.call.caller
    if not operation.is_async:
        return cast(Fetch, operation.fetch)(arguments, caller)
    seconds = prepared.policy.timeout_seconds

    async def fetch() -> Payload | NativeResult | Fetched:
        try:
            async with asyncio.timeout(seconds):
                return await cast(FetchAsync, operation.fetch)(arguments, caller)
        except TimeoutError:
            raise errors.too_slow(seconds) from None

    with usage.one_call():
        result = async_to_sync(fetch)()
    payload = result.payload if isinstance(result, Fetched) else result
    if isinstance(payload, PagedRows):
        return PagedRows(RememberedPages(payload.source), payload.shape, payload.options, payload.visibility)
    return payload


# -- From a snapshot --------------------------------------------------------------------------------


def snapshot_behind(chain: str) -> Snapshot | None:
    """The snapshot of a recorded call, if it is still stored. Blocks. Raises StoreUnavailable."""
    return snapshots.store.get(chain) if chain else None


def given_in(snapshot: Snapshot, operation: Operation) -> dict[str, Any]:
    """The arguments of the call that made the snapshot."""
    own = {name: value for name, value in snapshot.arguments.items() if operation.defaults.get(name) != value}
    form = snapshot.plan.get("form", {})
    chosen = {name: form[name] for name in ("limit", "fields") if form.get(name) is not None}
    return {**own, **chosen}


def from_snapshot(operation: Operation, snapshot: Snapshot, caller: Caller) -> PreviewSource | None:
    """The data that the snapshot stores; None if it stores too little to answer the call again. Blocks."""
    if AGGREGATE in snapshot.arguments:
        return None  # the snapshot stores the groups, not the rows
    try:
        payload = _stored(operation, snapshot)
        prepared = prepared_for(operation, given_in(snapshot, operation), caller)
    except (CallError, InvalidCursor):
        return None
    return None if payload is None else PreviewSource(prepared.request, payload, "From the call's stored snapshot.")


def _stored(operation: Operation, snapshot: Snapshot) -> Payload | None:
    """Raises InvalidCursor."""
    if needs_no_fetch(snapshot):
        value = stored_value(snapshot, snapshots)
        return Record(value, operation.shape, note=snapshot.plan.get("note", {}))
    if is_growing(snapshot):
        pages = stored_pages(snapshot, snapshots)
        rows = [row for page in pages for row in page.rows]
        loaded = Loaded(rows, beside=pages[0].beside, total=pages[0].total)
        return MemoryRows(lambda: loaded, operation.shape)
    payload = stored_payload(snapshot, operation.shape, snapshots)
    if not isinstance(payload, MemoryRows):
        return payload
    every = list(payload.everything(snapshot.plan["source"], partial(snapshots.blocks, snapshot)))
    return MemoryRows(every, operation.shape)


# -- Pasted -----------------------------------------------------------------------------------------


def pasted(operation: Operation, text: str) -> PreviewSource:
    """A response that somebody pasted: JSON or a text. Raises InvalidArgument."""
    if len(text) > LONGEST_PASTED:
        raise _unreadable(f"has {len(text):,} characters", f"at most {LONGEST_PASTED:,} characters")
    if not text.strip():
        raise _unreadable("is empty", "JSON, or a text")
    request = AnswerRequest(operation.name, caller="preview", hints=_hints)
    return PreviewSource(request, _payload(operation, text), "From the pasted response.")


def _hints(operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return hints.mcp(configuration.current().operations.get(operation), arguments)


def _payload(operation: Operation, text: str) -> Payload:
    if text.lstrip()[:1] not in ("{", "["):
        return MemoryText(text)
    try:
        value = json_limits.loads(text, "response")
    except ValueError as error:
        raise _unreadable(f"is not JSON: {error}", "JSON, or a text that begins otherwise") from None
    rows = value if isinstance(value, list) else _rows_in(value) if operation.kind is Kind.LIST else None
    if rows is not None:
        return MemoryRows([each if isinstance(each, dict) else {"value": each} for each in rows], operation.shape)
    return Record(value, operation.shape)


def _rows_in(document: Mapping[str, Any]) -> list[Any] | None:
    """The rows of a list in its wrapper: its longest list of objects."""
    lists = [each for each in document.values() if isinstance(each, list) and each and isinstance(each[0], dict)]
    return max(lists, key=len, default=None)


def _unreadable(problem: str, expected: str) -> InvalidArgument:
    return InvalidArgument(
        f"The pasted response {problem}.",
        reason="invalid_response",
        parameter="response",
        value="(not shown)",
        expected=expected,
        suggestion="Paste the body of a response as the API sends it.",
    )
