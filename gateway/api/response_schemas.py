"""JSON Schemas of the REST API's answers. They become components of the OpenAPI document.

Rows and records have the upstream's field names, so these schemas do not list them.
"""

from collections.abc import Mapping
from typing import Any

from context_protection.core.errors import CODES
from context_protection.core.policy import Kind

Schema = dict[str, Any]

WHOLE = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
ANY_OBJECT: Schema = {"type": "object", "additionalProperties": True}
ROWS = {"type": "array", "items": ANY_OBJECT}
CURSOR = {**TEXT, "description": "Missing on the last page: call again with `cursor` set to this."}
CALL: Schema = {
    "type": "object",
    "description": "The call that returns the rest.",
    "properties": {"endpoint": TEXT, "parameters": ANY_OBJECT},
    "required": ["endpoint"],
}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: str, about: str | None = None, /, **properties: Schema) -> Schema:
    """`required`: names, separated by spaces. Fields that are not listed are allowed."""
    schema: Schema = {"type": "object", "properties": properties, "required": required.split()}
    return schema if about is None else {**schema, "description": about}


def _meta(required: str = "", **properties: Schema) -> Schema:
    """A `meta`: the fields of the budget, and those that this kind of answer adds."""
    return {"allOf": [ref("Meta"), _object(required, None, **properties)]}


def _kind(kind: str) -> Schema:
    return {"type": "string", "const": kind}


META = _object(
    "estimatedTokens budgetUsed budgetRemaining",
    "The answer's budget, and facts about the answer.",
    estimatedTokens={**WHOLE, "description": "Of the whole body, by the formula: characters / 4 + 20 %."},
    budgetUsed={"type": "number", "minimum": 0, "maximum": 1},
    budgetRemaining=WHOLE,
    resultHandle={**TEXT, "description": "For result_query, result_search and result_get."},
    withheld={"description": "The redacted fields."},
    emptyFields={**WHOLE, "description": "Null and empty fields that were left out; fields=raw has them."},
    notes=TEXTS,
    asOf={"type": "string", "format": "date-time"},
    stale={"type": "boolean", "description": "Upstream does not answer: this is its last known answer."},
)
LIST_META = _meta(
    totalCount=WHOLE,
    pageSize=WHOLE,
    hasMore={"type": "boolean"},
    snapshotAt={"type": "string", "format": "date-time"},
    kind={"type": "string", "enum": ["full", "preview"]},
    totalFields=WHOLE,
    projectedFields=TEXTS,
    originalTokens=WHOLE,
    detailsAvailable=ANY_OBJECT,
    beside={"description": "Data that upstream sent beside the rows, or the call that returns it."},
)
SECTIONS = {
    "type": "object",
    "description": "The names for `fields`.",
    "additionalProperties": _object("estimatedTokens", estimatedTokens=WHOLE),
}
PREVIEW_META = _meta(
    "kind",
    kind=_kind("preview"),
    totalFields=WHOLE,
    projectedFields=TEXTS,
    originalTokens=WHOLE,
    detailsAvailable={"allOf": [CALL, _object("", sections=SECTIONS)]},
)

LISTS: dict[str, Schema] = {
    "ListPage": _object(
        "items meta",
        "A page of rows. Without `limit`, a list that fits has no `nextCursor` and only the budget in `meta`.",
        items=ROWS,
        nextCursor=CURSOR,
        meta=ref("ListMeta"),
    ),
    "TablePage": _object(
        "table meta",
        "A page with `format=table`: columns once, values that all rows share under `constants`.",
        table=_object(
            "columns constants rows",
            columns=TEXTS,
            constants=ANY_OBJECT,
            rows={"type": "array", "items": {"type": "array"}},
            absent={
                "type": "object",
                "description": "For a column, the indexes of the rows that lack it.",
                "additionalProperties": {"type": "array", "items": WHOLE},
            },
        ),
        nextCursor=CURSOR,
        meta=ref("ListMeta"),
    ),
    "GroupsPage": _object(
        "groups meta", "The groups of `aggregate`.", groups=ROWS, nextCursor=CURSOR, meta=ref("ListMeta")
    ),
    "UnpagedList": {
        **_object("items", "All rows as upstream sent them, if an operator has switched paging off.", items=ROWS),
        "additionalProperties": False,
    },
}
RECORDS: dict[str, Schema] = {
    "Record": {
        **_object("", "The record's fields, and `meta`. If it has a `meta` of its own, ours is `_meta`."),
        "anyOf": [
            _object(name, None, **{name: _meta("kind", kind={"type": "string", "enum": ["full", "part"]})})
            for name in ("meta", "_meta")
        ],
        "additionalProperties": True,
    },
    "RecordPreview": _object(
        "summary meta", "A preview of a record above its budget.", summary=ANY_OBJECT, meta=ref("PreviewMeta")
    ),
}
TEXT_CHUNKS: dict[str, Schema] = {
    "TextChunk": _object(
        "content chunkIndex totalChunks metadata meta",
        "A text, or a chunk of a long one.",
        content=TEXT,
        chunkIndex=WHOLE,
        totalChunks={"type": "integer", "minimum": 1},
        nextCursor=CURSOR,
        metadata=_object(
            "startLine endLine totalLines bytesInChunk",
            startLine=WHOLE,
            endLine=WHOLE,
            totalLines=WHOLE,
            bytesInChunk=WHOLE,
        ),
        meta=ref("Meta"),
    )
}
MATCHES: dict[str, Schema] = {
    "MatchingLines": _object(
        "items meta",
        "With `search`: the lines of the text that contain all words.",
        items={"type": "array", "items": _object("line match", line=WHOLE, chunkIndex=WHOLE, match=TEXT)},
        nextCursor=CURSOR,
        meta=ref("ListMeta"),
    )
}
HANDLES: dict[str, Schema] = {
    "ResultHandle": _object(
        "columns meta",
        "With `format=handle`: the columns of the result instead of its data.",
        columns={"type": "object", "additionalProperties": TEXT},
        otherColumns=WHOLE,
        meta=_meta("kind resultHandle", kind=_kind("handle"), totalCount=WHOLE),
    )
}
ERROR = _object(
    "error",
    error=_object(
        "code reason message data",
        code={"type": "integer", "enum": list(CODES), "description": "\n".join(f"{n}: {CODES[n]}" for n in CODES)},
        reason={**TEXT, "description": "A word for programs, such as `cursor_expired`."},
        message=TEXT,
        data=_object(
            "",
            "What to do next.",
            parameter=TEXT,
            value={"description": "What was sent."},
            expected=TEXT,
            suggestion=TEXT,
            retry_after={"type": "integer", "minimum": 1, "description": "Seconds."},
            upstream=_object("", "What upstream says.", status={"type": "integer"}, message=TEXT),
            capacity=_object("", "The rate limit, in requests.", remaining=WHOLE, limit=WHOLE),
        ),
    ),
)

ANSWERS: Mapping[Kind, Mapping[str, Schema]] = {
    Kind.LIST: LISTS | HANDLES,
    Kind.RECORD: RECORDS | HANDLES,
    Kind.TEXT: TEXT_CHUNKS | MATCHES | RECORDS | HANDLES,  # a file that is no text is answered as a record
}
COMPONENTS: Mapping[str, Schema] = {
    "Meta": META,
    "ListMeta": LIST_META,
    "PreviewMeta": PREVIEW_META,
    **LISTS,
    **RECORDS,
    **TEXT_CHUNKS,
    **MATCHES,
    **HANDLES,
    "Error": ERROR,
}


def answer(kind: Kind = Kind.ACTION) -> Schema:
    """The schema of an operation's answer. An action's answer may have any of the forms."""
    names = ANSWERS.get(kind, LISTS | RECORDS | TEXT_CHUNKS | HANDLES)
    return {"anyOf": [ref(name) for name in names]}
