"""Resources: documents and records that are read one at a time, by URI.

Reading a resource calls its operation through the dispatcher, like every call. The answer is the same envelope, with
URIs as hints: a long document is returned as a chunk with a cursor, a large record as a preview.
"""

import base64
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote

import mcp.types as types
import orjson
from mcp.server import ServerRequestContext

from context_protection.core import tables
from context_protection.core.errors import InvalidArgument, InvalidCursor, InvalidHandle, NotFound, nearest
from context_protection.core.policy import DEFAULTS
from context_protection.core.stored_files import file_of, is_file
from context_protection.stores.snapshots import snapshots
from gateway.access.callers import confirm
from gateway.access.programs import Program
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.catalog.query_string import from_query
from gateway.dispatch import hints
from gateway.dispatch.call import Call
from gateway.dispatch.dispatch import serve
from gateway.mcp.clients import program_of
from gateway.mcp.errors import as_protocol_errors
from gateway.mcp.paging import fitting, page, tokens_of, written
from gateway.mcp.peers import Peer, peer_of
from gateway.mcp.progress import reported_to
from gateway.threads.limits import on_thread
from gateway.tracing.identity import note_trace_of

LISTED = "resource templates"
DOCUMENTS, DOCUMENT = "list_documents", "read_document"
FACTS = "id,title,mediaType,lines,bytes,estimatedTokens"
# A read always returns an envelope. The document's own type here would make clients choose the wrong viewer, so it is
# in the description.
MIME_TYPE = "application/json"
LONGEST_URI = 16_384  # characters; ten times the length of a query with `where` and a cursor
SHORTENED_NAME = 40  # characters


def resource_handlers(stdio_peer: Peer | None) -> dict[str, Any]:
    """The SDK server's resource handlers. `stdio_peer`: the caller if the transport carries no credentials."""

    async def list_resources(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        with as_protocol_errors(ctx.protocol_version):
            return await _listed(_Client.of(ctx, stdio_peer), params.cursor if params else None)

    async def list_resource_templates(
        ctx: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        with as_protocol_errors(ctx.protocol_version):
            cursor = params.cursor if params else None
            peer = peer_of(ctx, stdio_peer)
            found, following = await on_thread(peer.limit_key, _page_of_templates, peer.caller, cursor)
        return types.ListResourceTemplatesResult(resource_templates=found, next_cursor=following)

    async def read_resource(
        ctx: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        with as_protocol_errors(ctx.protocol_version, uri=params.uri):
            client = _Client.of(ctx, stdio_peer)
            peer = client.peer
            if params.uri.startswith(hints.FILES):
                return await on_thread(peer.limit_key, _file, peer.caller, params.uri)
            note_trace_of(ctx.meta)
            operation, arguments = await on_thread(peer.limit_key, _called_by, peer.caller, params.uri)
            async with reported_to(ctx, operation.name):
                envelope = await serve(client.call(operation, arguments))
        text = types.TextResourceContents(uri=params.uri, mime_type=MIME_TYPE, text=envelope.body.decode())
        return types.ReadResourceResult(contents=[text])

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_resource_templates,
        "on_read_resource": read_resource,
    }


def _file(caller: Caller, uri: str) -> types.ReadResourceResult:
    """A stored file, complete: the client program reads it, and shows the model a form of its own. Blocks. Raises
    NotFound."""
    now = confirm(caller)
    try:
        snapshot = snapshots.opened(uri.removeprefix(hints.FILES), now.owner)
        if is_file(snapshot) and snapshot.operation not in now.tools.hidden:
            file = file_of(snapshot, snapshots)
            blob = base64.b64encode(file.data).decode()
            content = types.BlobResourceContents(uri=uri, mime_type=file.media_type, blob=blob)
            return types.ReadResourceResult(contents=[content])
    except (InvalidCursor, InvalidHandle):
        pass
    raise NotFound(
        "There is no such file, or it has expired.",
        reason="unknown_resource",
        parameter="uri",
        value=uri,
        expected=f"the {hints.FILES}… of a resource link that the same key received within the last hour",
        suggestion="Call the tool whose answer linked the file again, and use the new link.",
    )


@dataclass(frozen=True, slots=True)
class _Client:
    peer: Peer
    program: Program

    @classmethod
    def of(cls, ctx: ServerRequestContext[Any], stdio_peer: Peer | None) -> "_Client":
        peer = peer_of(ctx, stdio_peer)
        return cls(peer, program_of(ctx, peer))

    def call(self, operation: Operation, arguments: Mapping[str, Any]) -> Call:
        peer = self.peer
        return Call(
            operation.name,
            arguments,
            peer.caller,
            peer.transport,
            hints.resource,
            program=self.program,
            session=peer.limit_key,
            id=peer.call_id,
        )


# -- Lists ------------------------------------------------------------------------------------------


async def _listed(client: _Client, cursor: str | None) -> types.ListResourcesResult:
    """A page of documents, with the cursor of the operation that lists them."""
    peer = client.peer
    caller = await on_thread(peer.limit_key, confirm, peer.caller)
    if any(catalogue.find(name, caller.tools.hidden) is None for name in (DOCUMENTS, DOCUMENT)):
        return types.ListResourcesResult(resources=[])
    listing = catalogue.get(DOCUMENTS)
    arguments = {"fields": FACTS, **({"cursor": cursor} if cursor is not None else {})}
    found = await _page_of_documents(listing, arguments, client)
    room = await on_thread(peer.limit_key, _fitting, found.resources)
    if room < len(found.resources):  # a resource is longer than a row: request only as many as fit
        found = await _page_of_documents(listing, {**arguments, "limit": max(1, room)}, client)
    if not room:
        found.resources = [_shortened(each) for each in found.resources]
    return found


async def _page_of_documents(
    listing: Operation, arguments: Mapping[str, Any], client: _Client
) -> types.ListResourcesResult:
    answer = orjson.loads((await serve(client.call(listing, arguments))).body)
    rows = tables.rows(answer["table"]) if "table" in answer else answer["items"]
    reader = catalogue.get(listing.record_operation or "")
    return types.ListResourcesResult(
        resources=[_document(row, reader) for row in rows], next_cursor=answer.get("nextCursor")
    )


def _document(row: Mapping[str, Any], reader: Operation) -> types.Resource:
    return types.Resource(
        uri=hints.resource(reader, {"id": row["id"]})["resource"],
        name=row["id"],
        title=row["title"],
        description=_described(row),
        mime_type=MIME_TYPE,
        size=row["bytes"],
    )


def _described(row: Mapping[str, Any]) -> str:
    """A description such as: text/markdown, 996 lines, 52,826 bytes, about 15,601 tokens"""
    facts = [row["mediaType"]]
    if row["lines"] is not None:
        facts.append(f"{row['lines']:,} lines")
    facts.append(f"{row['bytes']:,} bytes")
    if row["estimatedTokens"] is not None:
        facts.append(f"about {row['estimatedTokens']:,} tokens")
    return ", ".join(facts)


def _shortened(entry: types.Resource) -> types.Resource:
    """Shortens an entry that alone exceeds the cap to its URI and the beginning of its name."""
    return types.Resource(uri=entry.uri, name=entry.name[:SHORTENED_NAME])


def _fitting(entries: Sequence[types.Resource]) -> int:
    return fitting(tokens_of(map(written, entries)))


def _page_of_templates(caller: Caller, cursor: str | None) -> tuple[list[types.ResourceTemplate], str | None]:
    templates = resource_templates(confirm(caller).tools.hidden)
    return page(LISTED, templates, tokens_of(map(written, templates)), cursor)


def resource_templates(hidden: Container[str] = ()) -> list[types.ResourceTemplate]:
    """One template for each visible operation that reads a single resource, in catalogue order."""
    return [
        types.ResourceTemplate(
            uri_template=template,
            name=operation.name,
            title=operation.title,
            description=operation.description,
            mime_type=MIME_TYPE,
        )
        for template, operation in by_template(hidden).items()
    ]


def by_template(hidden: Container[str] = ()) -> dict[str, Operation]:
    """Operations by the RFC 6570 template of their URIs: sluice://bookings/{id}{?fields,cursor,format}"""
    return {
        f"{address}{{?{','.join(_in_query(operation))}}}": operation
        for operation in catalogue
        if operation.name not in hidden and (address := hints.resource_address(operation))
    }


def _in_query(operation: Operation) -> list[str]:
    return [name for name in operation.schema(DEFAULTS)["properties"] if f"{{{name}}}" not in operation.endpoint]


# -- From a URI to a call ---------------------------------------------------------------------------


def _called_by(caller: Caller, uri: str) -> tuple[Operation, dict[str, Any]]:
    """Like `called`, but without the operations hidden from the caller's key. Blocks."""
    return called(uri, confirm(caller).tools.hidden)


def called(uri: str, hidden: Container[str] = ()) -> tuple[Operation, dict[str, Any]]:
    """The operation of a URI, and its arguments, not yet validated. Raises NotFound if the URI is too long or matches
    no operation, InvalidArgument if the query repeats an argument."""
    address, _, query = uri.partition("?")
    scheme, _, path = address.partition("://")
    if len(uri) > LONGEST_URI:
        raise _unknown(uri, f"The URI has {len(uri):,} characters, more than {LONGEST_URI:,}.", hidden)
    if scheme.lower() != hints.SCHEME:
        raise _unknown(uri, f"Resources of this server begin with {hints.SCHEME}://", hidden)
    for operation in by_template(hidden).values():
        match = _pattern(hints.resource_address(operation)).fullmatch(f"{hints.SCHEME}://{path}")
        if match is not None:
            in_path = {name: unquote(value) for name, value in match.groupdict().items()}
            return operation, from_query(operation, {**in_path, **_read_query(query, in_path)})
    raise _unknown(uri, "No resource has such an address.", hidden)


@lru_cache(maxsize=1024)
def _pattern(address: str) -> re.Pattern[str]:
    """Matches addresses like sluice://bookings/{id}. A path value contains no unencoded delimiter."""
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/?#]+)", re.escape(address)))


def _read_query(query: str, in_path: Mapping[str, str]) -> dict[str, str]:
    """Name of each query argument → its value. As in RFC 6570, %20 encodes a space, and a plus is literal."""
    pairs = parse_qsl(query.replace("+", "%2B"), keep_blank_values=True)
    for name, times in Counter([*in_path, *(name for name, _ in pairs)]).items():
        if times > 1:
            raise InvalidArgument(
                f"{name[:80]} occurs {times} times.",
                reason="repeated_argument",
                parameter=name,
                value=query,
                expected=f"{name[:80]} once",
                suggestion=f"Leave all but one {name[:80]} out.",
            )
    return dict(pairs)


def _unknown(uri: str, message: str, hidden: Container[str]) -> NotFound:
    templates = list(by_template(hidden))
    path = uri.partition("?")[0].partition("://")[2]
    close = nearest(path.partition("/")[0], [each.partition("://")[2].partition("/")[0] for each in templates])
    meant = f"{hints.SCHEME}://{close}/{{id}}" if close else ""
    return NotFound(
        message,
        reason="unknown_resource",
        parameter="uri",
        value=uri,
        expected=f"one of: {', '.join(templates)}",
        suggestion=f"Did you mean {meant}?" if meant else "Take a URI from resources/list, or fill in a template.",
    )
