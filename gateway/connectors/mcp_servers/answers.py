"""What a tool has answered, as data: a text, or a value. Nothing is lost but what is said twice."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mcp.types as types

from context_protection.core import json_values
from context_protection.core.budget import dumps, length
from context_protection.core.errors import InvalidArgument
from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record
from context_protection.core.rows import Loaded, MemoryRows

DEEPEST = 100  # levels: what is nested deeper stays a text
LIFTED_FROM = 8_000  # characters of an object from which on its one list is answered as a list
LARGEST_REST = 2_000  # characters of what stands beside that list
_ESCAPED_COLON = re.compile(r"\\u003a", re.IGNORECASE)
SHARE = 0.8  # that the list has of the object, at least

Value = dict[str, Any] | list[Any]


def payload(result: types.CallToolResult, where: Any = None) -> Payload:
    """What a tool has answered, as protection takes it: a text, rows with what stands beside them, or a record. Raises
    InvalidArgument where rows are asked for by `where`, and there are none."""
    answer = read(result)
    found = None if isinstance(answer, str) else table(answer, wanted=where is not None)
    if found is not None:
        loaded = Loaded(found.rows, beside=found.rest)
        return MemoryRows(lambda: loaded)
    if where is not None:
        raise _no_rows(where)
    return Record(answer) if isinstance(answer, dict) else MemoryText(str(answer))


def _no_rows(where: Any) -> InvalidArgument:
    return InvalidArgument(
        "where chooses among rows, and the answer of this tool has none.",
        reason="invalid_where",
        parameter="where",
        value=where,
        expected="no where",
        suggestion="Call it again without where.",
    )


def read(result: types.CallToolResult) -> Value | str:
    """The answer: structured content where there is some, once; else the JSON of a text; else the text, as it is; else
    the block; of several blocks a list."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    only_texts = len(texts) == len(result.content)
    if result.structured_content is not None:
        return _structured(result, texts if only_texts else None)
    if only_texts and len(texts) == 1:
        return _of_text(texts[0])
    documents = [_parsed(text) for text in texts] if only_texts else []
    if documents and all(isinstance(document, dict) for document in documents):
        return documents
    blocks = [_block(block) for block in result.content]
    return blocks[0] if len(blocks) == 1 else blocks


def _structured(result: types.CallToolResult, texts: Sequence[str] | None) -> Value | str:
    """`texts`: the blocks, where all of them are texts. Many servers send these, or all blocks, once more as the one
    field of an object. What they say in other words is kept beside it."""
    value = _told(result.structured_content)
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    blocks = [_block(block) for block in result.content]
    if texts is not None and _says_the_same(texts, value):
        return _unwrapped(value)
    if texts is not None and inner is not None and _says_the_same(texts, inner):
        return _of_text(inner) if isinstance(inner, str) else _unwrapped(value)
    if inner == [_sent(block) for block in result.content]:
        return blocks[0] if len(blocks) == 1 else blocks
    return {"structuredContent": value, "blocks": blocks}


def _unwrapped(value: Any) -> Value | str:
    """SDKs wrap what is no object."""
    inner = value["result"] if isinstance(value, dict) and list(value) == ["result"] else value
    return inner if isinstance(inner, (dict, list, str)) else {"result": inner}


def _says_the_same(texts: Sequence[str], value: Any) -> bool:
    if not texts:
        return True
    if len(texts) == 1 and (texts[0] == value or _parsed(texts[0]) == value):
        return True
    return isinstance(value, list) and [_parsed(text, text) for text in texts] == value


def _told(value: Any) -> Any:
    """The value as it can be told again: numbers that are too long as texts, and what is nested too deeply as its
    JSON."""
    if not json_values.is_within(value, DEEPEST):
        return json.dumps(value, ensure_ascii=False)
    try:
        dumps(value)
    except TypeError:
        return json_values.loads(json.dumps(value).encode())
    return value


# -- Texts ------------------------------------------------------------------------------------------


def _of_text(text: str) -> Value | str:
    document = _parsed(text)
    if isinstance(document, (dict, list)):
        return document
    return _lines(text) or text


def _lines(text: str) -> list[Any] | None:
    """The objects of JSON lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return None
    documents = [_parsed(line) for line in lines]
    return documents if all(isinstance(document, dict) for document in documents) else None


def _parsed(text: str, otherwise: Any = None) -> Any:
    """The document that a text is, if it is one that can be told again without loss."""
    try:
        document = json_values.loads(text.encode())
    except (ValueError, RecursionError):
        return otherwise
    return document if json_values.is_within(document, DEEPEST) and _has_no_name_twice(text, document) else otherwise


def _has_no_name_twice(text: str, document: Any) -> bool:
    """Of a name that stands twice in an object, one value would be lost. Outside of its strings, JSON has a colon for
    each name and no other: more of them than names, and some name stands twice."""
    names = colons = 0
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            colons += value.count(":")
        elif isinstance(value, (dict, list)):
            waiting += value.values() if isinstance(value, dict) else value
        if isinstance(value, dict):
            names += len(value)
            colons += sum(name.count(":") for name in value)
    return text.count(":") + len(_ESCAPED_COLON.findall(text)) <= names + colons


# -- Blocks -----------------------------------------------------------------------------------------


def _block(block: types.ContentBlock) -> dict[str, Any]:
    """A block; what is binary with its size and digest, so that it need not be opened."""
    document = _sent(block)
    if isinstance(block, (types.ImageContent, types.AudioContent)):
        return {**_about(block.data), **document}
    if isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.BlobResourceContents):
        return {**_about(block.resource.blob), **document}
    return document


def _sent(block: types.ContentBlock) -> dict[str, Any]:
    document: dict[str, Any] = _told(block.model_dump(mode="json", by_alias=True, exclude_none=True))
    return document


def _about(data: str) -> dict[str, Any]:
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return {}
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


# -- Rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """The rows that an answer is, and what stands beside them."""

    rows: Sequence[dict[str, Any]]
    rest: Mapping[str, Any] = field(default_factory=dict)


def table(value: Value, *, wanted: bool) -> Table | None:
    """The rows of a list; of an object those of its one large list, if they are `wanted` or the object is long."""
    if isinstance(value, list):
        return Table([each if isinstance(each, dict) else {"value": each} for each in value])
    size = length(dumps(value))
    found = _one_list(value) if wanted or size >= LIFTED_FROM else None
    if found is None or length(dumps(found.rest)) > LARGEST_REST:
        return None
    return found if wanted or length(dumps(list(found.rows))) >= SHARE * size else None


def _one_list(value: Mapping[str, Any]) -> Table | None:
    """The one list of objects of an object, or of the one object in it: {"data": {"items": […]}, "ok": true}."""
    lists = [name for name, each in value.items() if _are_objects(each)]
    if len(lists) == 1:
        return Table(value[lists[0]], {name: each for name, each in value.items() if name != lists[0]})
    inner = [name for name, each in value.items() if isinstance(each, dict) and any(map(_are_objects, each.values()))]
    if lists or len(inner) != 1 or (found := _one_list(value[inner[0]])) is None:
        return None
    beside = {name: each for name, each in value.items() if name != inner[0]}
    return Table(found.rows, {**beside, inner[0]: found.rest})


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
