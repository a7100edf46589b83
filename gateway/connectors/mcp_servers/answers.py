"""Converts a tool's result to data: a text or a JSON value. Drops only content that the result repeats."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mcp.types as types

from context_protection.core import json_values
from context_protection.core.budget import dumps, length
from context_protection.core.errors import InvalidArgument
from context_protection.core.memory_text import MemoryText
from context_protection.core.payloads import Payload, Record
from context_protection.core.rows import Loaded, MemoryRows
from context_protection.core.shapes import Shape
from gateway.connectors.mcp_servers.media import digest, medium_of

DEEPEST = 100  # levels; a value nested deeper stays JSON text
LIFTED_FROM = 8_000  # characters; if an object of at least this size has only one list, the list is returned as rows
LARGEST_REST = 2_000  # maximum characters of the object's other fields
_ESCAPED_COLON = re.compile(r"\\u003a", re.IGNORECASE)
SHARE = 0.8  # minimum share of the object's characters that are in the list

SHAPE = Shape(fills_pages=True)
Value = dict[str, Any] | list[Any]


def block_as_data(block: types.ContentBlock) -> dict[str, Any]:
    """A block as JSON. Binary content also has its size and digest, so that readers need not decode it."""
    medium = medium_of(block)
    return {**(digest(medium.data) if medium and medium.is_decoded else {}), **as_json(block)}


AsData = Callable[[types.ContentBlock], dict[str, Any]]


def payload(
    result: types.CallToolResult, where: Any = None, as_data: AsData = block_as_data, *, is_searched: bool = False
) -> Payload:
    """A tool's result as a payload: a text, rows with the object's other fields, or a record. Raises InvalidArgument if
    `where` is given and the result has no rows."""
    answer = read(result, as_data)
    found = None if isinstance(answer, str) else table(answer, wanted=where is not None or is_searched)
    if found is not None:
        loaded = Loaded(found.rows, beside=found.rest)
        return MemoryRows(lambda: loaded, SHAPE)
    if where is not None:
        raise _no_rows(where)
    return Record(answer) if isinstance(answer, dict) else MemoryText(str(answer))


def _no_rows(where: Any) -> InvalidArgument:
    return InvalidArgument(
        "where filters rows, but the answer of this tool has none.",
        reason="invalid_where",
        parameter="where",
        value=where,
        expected="no where",
        suggestion="Call it again without where.",
    )


def read(result: types.CallToolResult, as_data: AsData = block_as_data) -> Value | str:
    """The result as data: the structured content if there is any, without blocks that repeat it. Otherwise a single
    text is parsed if it is JSON, another single block is returned as it is, and several blocks are returned as a
    list."""
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    only_texts = len(texts) == len(result.content)
    if result.structured_content is not None:
        return _structured(result, texts if only_texts else None, as_data)
    if only_texts and len(texts) == 1:
        return _of_text(texts[0])
    documents = [_parsed(text) for text in texts] if only_texts else []
    if documents and all(isinstance(document, dict) for document in documents):
        return documents
    blocks = [as_data(block) for block in result.content]
    return blocks[0] if len(blocks) == 1 else blocks


def unrepeated(result: types.CallToolResult) -> Any:
    """The structured content, if the blocks do not repeat it; else None."""
    if result.structured_content is None:
        return None
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    data = _structured(result, texts if len(texts) == len(result.content) else None, block_as_data)
    is_beside = isinstance(data, dict) and list(data) == ["structuredContent", "blocks"]
    return _encodable(result.structured_content) if is_beside or not result.content else None


def _structured(result: types.CallToolResult, texts: Sequence[str] | None, as_data: AsData) -> Value | str:
    """`texts`: the blocks' texts, if all blocks are texts. Many servers repeat the texts or blocks as the only field of
    the structured content. Blocks that differ from it are returned in addition to it."""
    value = _encodable(result.structured_content)
    inner = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    blocks = [as_data(block) for block in result.content]
    if texts is not None and _has_the_same_content(texts, value):
        return _unwrapped(value)
    if texts is not None and inner is not None and _has_the_same_content(texts, inner):
        return _of_text(inner) if isinstance(inner, str) else _unwrapped(value)
    if inner == [as_json(block) for block in result.content]:
        return blocks[0] if len(blocks) == 1 else blocks
    return {"structuredContent": value, "blocks": blocks}


def _unwrapped(value: Any) -> Value | str:
    """Removes the wrapper that SDKs put around a value that is not an object: {"result": value}."""
    inner = value["result"] if isinstance(value, dict) and list(value) == ["result"] else value
    return inner if isinstance(inner, (dict, list, str)) else {"result": inner}


def _has_the_same_content(texts: Sequence[str], value: Any) -> bool:
    if not texts:
        return True
    if len(texts) == 1 and (texts[0] == value or _parsed(texts[0]) == value):
        return True
    return isinstance(value, list) and [_parsed(text, text) for text in texts] == value


def _encodable(value: Any) -> Any:
    """The value in a form that can be encoded: numbers that are too long, NaN and infinity become strings, and a value
    that is nested too deeply becomes its JSON text."""
    if not json_values.is_within(value, DEEPEST):
        return json.dumps(value, ensure_ascii=False)
    try:
        if b"null" in dumps(value):  # which is also written for NaN and infinity
            json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return json_values.loads(json.dumps(value).encode())
    return value


# -- Texts ------------------------------------------------------------------------------------------


def _of_text(text: str) -> Value | str:
    document = _parsed(text)
    if isinstance(document, (dict, list)):
        return document
    return _lines(text) or text


def _lines(text: str) -> list[Any] | None:
    """The objects of a JSON Lines text; None for any other text."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for line in lines):
        return None
    documents = [_parsed(line) for line in lines]
    return documents if all(isinstance(document, dict) for document in documents) else None


def _parsed(text: str, otherwise: Any = None) -> Any:
    """The JSON document in a text; `otherwise` if there is none, or if it cannot be re-encoded without loss."""
    try:
        document = json_values.loads(text.encode())
    except (ValueError, RecursionError):
        return otherwise
    return document if json_values.is_within(document, DEEPEST) and _has_no_repeated_name(text, document) else otherwise


def _has_no_repeated_name(text: str, document: Any) -> bool:
    """False if an object in the text repeats a name, as parsing drops all but one of the name's values. Outside of
    strings, JSON has exactly one colon per name, so that more colons than parsed names mean a repeated name."""
    names = colons = 0
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            colons += value.count(":")
        elif isinstance(value, (dict, list)):
            pending += value.values() if isinstance(value, dict) else value
        if isinstance(value, dict):
            names += len(value)
            colons += sum(name.count(":") for name in value)
    return text.count(":") + len(_ESCAPED_COLON.findall(text)) <= names + colons


# -- Blocks -----------------------------------------------------------------------------------------


def as_json(block: types.ContentBlock) -> dict[str, Any]:
    document: dict[str, Any] = _encodable(block.model_dump(mode="json", by_alias=True, exclude_none=True))
    return document


# -- Rows -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnswerTable:
    """The rows of an answer, and its other fields."""

    rows: Sequence[dict[str, Any]]
    rest: Mapping[str, Any] = field(default_factory=dict)


def table(value: Value, *, wanted: bool) -> AnswerTable | None:
    """The rows of a list, or of an object's only list of objects if rows are `wanted`, or if that list is most of a
    long object. None if there are no such rows, or if the object's other fields are too large."""
    if isinstance(value, list):
        return AnswerTable([each if isinstance(each, dict) else {"value": each} for each in value])
    size = length(dumps(value))
    found = _one_list(value) if wanted or size >= LIFTED_FROM else None
    if found is None or length(dumps(found.rest)) > LARGEST_REST:
        return None
    return found if wanted or length(dumps(list(found.rows))) >= SHARE * size else None


def _one_list(value: Mapping[str, Any]) -> AnswerTable | None:
    """The only list of objects in an object, or in the only nested object that has one:
    {"data": {"items": […]}, "ok": true}."""
    lists = [name for name, each in value.items() if _are_objects(each)]
    if len(lists) == 1:
        return AnswerTable(value[lists[0]], {name: each for name, each in value.items() if name != lists[0]})
    inner = [name for name, each in value.items() if isinstance(each, dict) and any(map(_are_objects, each.values()))]
    if lists or len(inner) != 1 or (found := _one_list(value[inner[0]])) is None:
        return None
    beside = {name: each for name, each in value.items() if name != inner[0]}
    return AnswerTable(found.rows, {**beside, inner[0]: found.rest})


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
