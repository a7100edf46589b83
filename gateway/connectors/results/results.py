"""Opens a result handle: the rows, the record or the text that a response was made from."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from context_protection.core import texts, withheld
from context_protection.core.budget import dumps
from context_protection.core.cursors import Walk, invalid_handle
from context_protection.core.errors import InvalidArgument, InvalidCursor
from context_protection.core.payloads import Kept, Payload, Record, Rows, Text
from context_protection.core.protect import kept_payload, needs_no_fetch
from context_protection.core.query import query
from context_protection.core.query.columns import Type
from context_protection.core.records import kept_value
from context_protection.core.results import tabulation
from context_protection.core.results.tabulation import Column
from context_protection.core.shapes import ANY, Shape
from context_protection.core.upstream_pages import PagedRows, stored_pages
from context_protection.core.withheld import withheld_in
from context_protection.stores.snapshots import walks
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Fetch, FetchAsync, Fetched
from gateway.dispatch.redaction import redacted
from gateway.threads.bridge import wait_for

MOST_ROWS = 50_000
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True)
class StoredRows:
    """A list's rows, ready to send. Fields that lists must not show are removed; `note` names all redacted fields."""

    rows: Sequence[dict[str, Any]]
    shape: Shape
    columns: Sequence[Column]
    note: Mapping[str, Any]


@dataclass(frozen=True)
class StoredValue:
    """One redacted record; `note` names the redacted fields."""

    value: dict[str, Any]
    note: Mapping[str, Any]
    shape: Shape = ANY


@dataclass(frozen=True)
class StoredText:
    """A text, in the version that the handle was issued for."""

    text: Text


Stored = StoredRows | StoredValue | StoredText


def opened(handle: str, caller: Caller) -> Stored:
    """The stored data behind a handle. Raises InvalidHandle, and InvalidArgument if a list is too large to be read
    whole."""
    walk = walk_of(handle, caller)
    if needs_no_fetch(walk):
        operation = catalogue.find(walk.operation)
        return StoredValue(kept_value(walk, walks), walk.plan["note"], operation.shape if operation else ANY)
    payload = _payload(walk, caller)
    if isinstance(payload, Rows):
        return _stored_rows(query.taken_up(payload, walk.arguments), walk)
    assert not isinstance(payload, Record), "a record's walk keeps the record"
    text = payload.at(texts.version_of(walk))
    if text is None:
        raise invalid_handle(handle, walk.origin)
    return StoredText(text)


def _payload(walk: Walk, caller: Caller) -> Payload:
    """The payload behind the snapshot (`Walk`). Upstream is called only for pages of a list that were not fetched
    yet."""
    operation = catalogue.get(walk.operation)
    if not operation.is_async:
        return cast(Fetch, operation.fetch)(walk.arguments, caller)
    stored = kept_payload(walk, operation.shape, walks)
    if stored is not None:
        return stored
    known = stored_pages(walk, walks)

    async def load_remaining() -> Payload:
        fetched = await cast(FetchAsync, operation.fetch)(walk.arguments, caller)
        payload = redacted(fetched.payload if isinstance(fetched, Fetched) else fetched, caller.reveal)
        if not isinstance(payload, PagedRows):  # the operation has changed since
            raise invalid_handle(walk.id, walk.origin)
        await payload.gather_rest(known)
        return payload

    return wait_for(load_remaining)


def walk_of(handle: str, caller: Caller) -> Walk:
    """The snapshot that the handle names. Raises InvalidHandle, also if its operation is now hidden from the caller."""
    walk = walks.opened(handle, caller.owner)
    if walk.operation in caller.tools.hidden:
        raise invalid_handle(handle, None)
    return walk


def _stored_rows(rows: Rows, walk: Walk) -> StoredRows:
    paths: dict[str, None] = {}
    try:
        every = list(_every_row(rows, walk, paths))
    except InvalidCursor:  # a stored block is missing
        raise invalid_handle(walk.id, walk.origin) from None
    return StoredRows(every, rows.shape, _columns(rows), withheld.note(paths))


def _every_row(rows: Rows, walk: Walk, paths: dict[str, None]) -> Iterator[dict[str, Any]]:
    """The rows, ready to send. Adds the paths of their redacted fields to `paths`."""
    assert isinstance(rows, Kept), "a list that leaves handles can be read whole"
    if (walk.plan["total"] or 0) > MOST_ROWS:
        raise _too_long(walk)
    size = 0
    for row in rows.everything(walk.plan["source"], partial(walks.blocks, walk)):
        sent, left_out = rows.shape.as_row(row)
        paths.update(dict.fromkeys([*left_out, *withheld.paths(withheld_in(sent))]))
        size += len(dumps(sent))
        if size > MOST_BYTES:
            raise _too_long(walk)
        yield sent


def _columns(rows: Rows) -> list[Column]:
    """The canonical columns, for SQL."""
    declared = rows.askable.declared if isinstance(rows, query.Askable) else ()
    return [
        Column(each.name, each.source, cast(tabulation.Kind, each.type.value), each.convert)
        for each in declared
        if each.type is not Type.ANY
    ]


def _too_long(walk: Walk) -> InvalidArgument:
    return InvalidArgument(
        f"The result has {walk.plan['total']:,} rows, which is too much to be looked into at once.",
        reason="result_too_large",
        parameter="handle",
        value=walk.id,
        expected=f"a result of at most {MOST_ROWS:,} rows and {MOST_BYTES // 2**20} MB",
        suggestion=f"Call {walk.operation} with where, filters or aggregate, and take the handle of that answer.",
    )
