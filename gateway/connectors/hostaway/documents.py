"""Documents: the files of an account, such as logs and manuals."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from context_protection.configuration.revisions import contents
from context_protection.core.fields import Field
from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind
from context_protection.core.query.columns import QueryColumn, Type
from context_protection.core.query.conditions import Condition, Op
from context_protection.core.rows import MemoryRows
from context_protection.core.shapes import Shape
from context_protection.orm.expressions import comparison
from context_protection.stores.snapshots import snapshots
from gateway.catalog.caller import Caller
from gateway.catalog.operation import NamedText, Operation
from gateway.connectors.hostaway.document_texts import DocumentText
from gateway.connectors.hostaway.field_table import order_parameter, ordered
from gateway.connectors.hostaway.fields import TEXT, moment
from gateway.connectors.hostaway.models import Document
from gateway.connectors.hostaway.table_operations import find_id, not_found

SHAPE = Shape(
    name="document",
    row=(
        Field("id"),
        Field("title"),
        Field("mediaType"),
        Field("encoding"),
        Field("lines"),
        Field("bytes"),
        Field("estimatedTokens"),
        Field("updatedOn"),
        Field("handle"),
    ),
    unsearched=("handle",),
)
READ = "read_document"
TITLE = QueryColumn("title", Type.TEXT, column="title")
ORDERS = {"insertedOn": "inserted_on", "title": "title", "id": "id"}


def operations() -> list[Operation]:
    return [
        Operation(
            name="list_documents",
            title="List documents",
            description="Logs, manuals and guides; read_document reads one.",
            kind=Kind.LIST,
            parameters={
                "title": {**TEXT.schema, "description": "Part of the title."},
                "order": order_parameter(ORDERS),
            },
            plain=frozenset({"title", "order"}),
            examples={
                "where": {"lines": {"gte": 1000}},
                "aggregate": {"groupBy": ["mediaType"], "metrics": [{"op": "count"}]},
            },
            form=("where", "search", "aggregate", "limit", "cursor", "fields", "format"),
            fetch=_list,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/documents",
            record_operation=READ,
            field_names=tuple(field.name for field in SHAPE.row),
        ),
        Operation(
            name=READ,
            title="Read a document",
            description="A document's text: in chunks, a range of lines, or the lines that match search.",
            kind=Kind.TEXT,
            parameters={"id": {**TEXT.schema, "description": "The document's id."}},
            plain=frozenset({"id"}),
            required=("id",),
            sources={"id": find_id("list_documents")},
            fetch=_text,
            named_text=_named_text,
            version=contents.current,
            is_redacted=True,
            endpoint="/api/v1/documents/{id}",
        ),
    ]


def _list(arguments: Mapping[str, Any], caller: Caller) -> Payload:
    documents = Document.objects.select_related("content").order_by(*ordered(arguments["order"], ORDERS, Document))
    if "title" in arguments:
        documents = documents.filter(Q(comparison(Condition(TITLE, Op.CONTAINS, Type.TEXT, arguments["title"]))))
    reads = READ not in caller.tools.hidden
    return MemoryRows([{**_row(document), **(_handle(document) if reads else {})} for document in documents], SHAPE)


def _handle(document: Document) -> dict[str, str]:
    """The text's handle, which result_search and result_query take. A file that is not text has none."""
    return {} if document.content_id is None else {"handle": _handle_of(document.id, document.content_id)}


def _handle_of(identifier: str, digest: str) -> str:
    return snapshots.handle_of_text(READ, identifier, digest)


def _named_text(handle: str) -> NamedText | None:
    documents = Document.objects.exclude(content=None).order_by().values_list("id", "content_id")
    found = (NamedText({"id": each}, digest) for each, digest in documents if _handle_of(each, digest) == handle)
    return next(found, None)


def _row(document: Document) -> dict[str, Any]:
    return {
        "id": document.id,
        "title": document.title,
        "mediaType": document.media_type,
        "encoding": document.encoding,
        "lines": document.lines,
        "bytes": document.content.bytes if document.content else document.bytes,  # of the text, if the file is text
        "estimatedTokens": document.estimated_tokens,
        "updatedOn": moment(document.updated_on),
    }


def _text(arguments: Mapping[str, Any], caller: Caller) -> Payload:
    document = Document.objects.select_related("content").filter(id=arguments["id"]).first()
    if document is None:
        raise not_found("document", arguments["id"], "list_documents")
    return DocumentText.of(document)
