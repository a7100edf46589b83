"""Reads an upstream's response as rows, a record or a text. The content takes precedence over the media type."""

import codecs
import csv
import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from context_protection.core import json_values
from context_protection.core.policy import Kind
from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.description import DocumentedOperation
from gateway.connectors.openapi.document.documents import BYTE_ORDER_MARKS
from gateway.connectors.openapi.response.dotted_paths import at, has, without
from gateway.upstreams import json_depth
from gateway.upstreams.errors import UpstreamGarbled
from gateway.upstreams.request import Response

DEEPEST_XML = 200
TEXT_OF_ELEMENT = "#text"
_JSON = re.compile(r"(?:application|text)/(?:[\w.-]+\+)?json")
_LINES = re.compile(r"application/(?:x-)?(?:ndjson|jsonl|jsonlines|json-seq|stream\+json)")
_XML = re.compile(r"(?:application|text)/(?:[\w.-]+\+)?xml")
# Not UTF-16 or UTF-32: a declaration that can be read as ASCII is in neither.
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?\sencoding\s*=\s*[\"']((?!utf-?(?:16|32))[\w.:-]{1,40})", re.IGNORECASE)
_OF_DOMAIN_NAMES = frozenset({"idna", "punycode"})  # Python decodes long texts in them in quadratic time
_UTF_8 = frozenset({"utf-8", "ascii"})
_BEYOND_ASCII = re.compile("[^\\x00-\\x7f\\ufffd]")
_MARKS = tuple(mark for mark, _ in BYTE_ORDER_MARKS)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_MAYBE_JSON = frozenset({"", "text/plain", "text/html", "text/javascript", "application/javascript"})
_BYTES = frozenset({"application/octet-stream", "binary/octet-stream"})
_TABLES = frozenset({"text/csv", "application/csv", "text/comma-separated-values"})
_TEXTS = frozenset({"", "application/yaml", "application/x-yaml", "application/javascript", "application/sql"})


@dataclass(frozen=True, slots=True)
class Answered:
    """One of `rows`, `record` and `text` is set. `path`: that of the rows. `rest`: everything except the rows, so that
    nothing is lost. `body`: the whole data, in which the next page is looked up."""

    rows: Sequence[dict[str, Any]] | None = None
    record: Mapping[str, Any] | None = None
    text: str | None = None
    rest: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    path: str = ""


def read(response: Response, operation: DocumentedOperation) -> Answered:
    """Reads a successful response. Raises UpstreamGarbled if it does not match its media type or the document."""
    kind = response.media_type
    if not response.body.strip():
        return Answered(rows=[]) if operation.kind is Kind.LIST else Answered(record={"httpStatus": response.status})
    if _JSON.fullmatch(kind):
        return _from_data(_json(response), operation)
    if _LINES.fullmatch(kind):
        return _from_data(_json_lines(response), operation)
    if _XML.fullmatch(kind) and kind not in _HTML:
        return _from_data(_xml(response), operation)
    may_be_json = _is_mislabelled(kind, operation) or (kind in _MAYBE_JSON and operation.kind is not Kind.TEXT)
    if may_be_json and response.body.lstrip()[:1] in (b"{", b"["):
        return _from_data(_json(response), operation)
    if kind in _HTML and not _HTML.intersection(operation.accept) and not _is_text(response, operation):
        raise _garbled("an HTML page, such as a login or an error page", "html_answer")
    if kind in _TABLES:
        return _from_table(_decoded(response), operation)
    if kind.startswith("text/") or kind in _TEXTS:
        return Answered(text=_decoded(response))
    return Answered(record=_file(response))


def _is_mislabelled(kind: str, operation: DocumentedOperation) -> bool:
    """Whether JSON is documented and the media type is that of bytes, as which file servers label every file."""
    return kind in _BYTES and kind not in operation.accept and any(map(_JSON.fullmatch, operation.accept))


def _is_text(response: Response, operation: DocumentedOperation) -> bool:
    """Whether the document declares a text and the response is one. Some servers label every text as HTML."""
    return operation.kind is Kind.TEXT and not _is_page(response)


def _is_page(response: Response) -> bool:
    return response.body.lstrip()[:1] == b"<"


def _from_data(data: Any, operation: DocumentedOperation) -> Answered:
    if operation.kind is Kind.TEXT and isinstance(data, str):
        return Answered(text=data, body=data)
    if operation.kind in (Kind.RECORD, Kind.TEXT) and isinstance(data, list):
        return Answered(rows=_rows(data), body=data)
    path = _rows_path(data, operation.rows) if operation.kind is Kind.LIST else None
    if operation.kind is not Kind.LIST or (path is None and operation.kind_is_unknown):
        return Answered(record=data if isinstance(data, dict) else {"value": data}, body=data)
    if path is None and data is None:
        return Answered(rows=[], rest={"value": None}, body=data)
    if path is None:
        is_empty = operation.rows is not None and isinstance(data, dict)
        return Answered(rows=[], rest=data, body=data) if is_empty else Answered(rows=_rows([data]), body=data)
    if at(data, path) is None:  # null is not an empty list: it is shown beside the rows
        return Answered(rows=[], rest=data, body=data, path=path)
    rows = _rows(at(data, path))
    return Answered(rows=rows, rest=without(data, path) if isinstance(data, dict) else {}, body=data, path=path)


def _rows_path(data: Any, declared: str | None) -> str | None:
    """The path of the rows: the declared one, or else that of the obvious array."""
    if declared is not None and _may_be_rows(data, declared):
        return declared
    if isinstance(data, list):
        return ""
    if not isinstance(data, dict):
        return None
    if (name := _obvious(data)) is not None:
        return name
    below = ((name, each) for name, each in data.items() if name in conventions.AROUND_ROWS and isinstance(each, dict))
    return next((f"{name}.{inner}" for name, each in below if (inner := _obvious(each)) is not None), None)


def _may_be_rows(data: Any, path: str) -> bool:
    """Whether the path holds a list, or null in place of an empty list."""
    found = at(data, path)
    return isinstance(found, list) or (found is None and bool(path) and has(data, path))


def _obvious(data: Mapping[str, Any]) -> str | None:
    arrays = [name for name, each in data.items() if isinstance(each, list)]
    of_objects = [name for name in arrays if any(isinstance(each, dict) for each in data[name])]
    conventional = [name for name in conventions.ROWS if name in arrays]
    for candidates in (of_objects, arrays):
        if len(candidates) == 1:
            return candidates[0]
    return conventional[0] if conventional else None


def _rows(values: list[Any]) -> list[dict[str, Any]]:
    if set(map(type, values)) == {dict}:
        return list(values)
    return [value if isinstance(value, dict) else {"value": value} for value in values]


# -- Decoding ---------------------------------------------------------------------------------------


def _json(response: Response) -> Any:
    data = response.body
    try:
        return json_depth.loads(data if _is_utf8(response) else _decoded(response).encode(), json_values.loads)
    except (ValueError, RecursionError):
        what = "a page instead of JSON" if _is_page(response) else "invalid JSON"
        raise _garbled(what, "invalid_json") from None


def _json_lines(response: Response) -> Any:
    lines = [line.strip("\x1e \t\r") for line in _decoded(response).split("\n")]
    try:
        return json_depth.checked([json_depth.loads(line.encode(), json_values.loads) for line in lines if line])
    except (ValueError, RecursionError):
        raise _garbled("invalid JSON Lines", "invalid_json") from None


def _xml(response: Response) -> dict[str, Any]:
    try:
        return _parsed_xml(_text_of_xml(response))
    except _NotXml as problem:
        raise _garbled(f"XML that cannot be read: {problem}", "invalid_xml") from None


def _from_table(text: str, operation: DocumentedOperation) -> Answered:
    """CSV as rows if it has a header of unique names; otherwise as a text."""
    if operation.kind is Kind.TEXT:
        return Answered(text=text)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)) if line]
    except csv.Error:
        return Answered(text=text)
    header = lines[0] if lines else []
    has_header = len(set(header)) == len(header) and all(name and not _is_number(name) for name in header)
    if not has_header or len(lines) < 2 or any(len(line) != len(header) for line in lines[1:]):
        return Answered(text=text)
    rows = [dict(zip(header, line, strict=True)) for line in lines[1:]]
    return Answered(rows=rows, body=rows)


def _delimiter(text: str) -> str:
    """Where the decimal sign is a comma, tables have semicolons or tabs between their columns."""
    header = text.partition("\n")[0]
    return "," if "," in header else next((each for each in ";\t" if each in header), ",")


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?[\d.,]+\s*", text) is not None


def _file(response: Response) -> dict[str, Any]:
    return {
        "contentType": response.media_type,
        "bytes": len(response.body),
        "sha256": hashlib.sha256(response.body).hexdigest(),
    }


def _decoded(response: Response) -> str:
    """Decodes by the byte order mark, or else by the declared charset, or else as UTF-8."""
    try:
        encoding = _encoding(response, _charset(response))
        return _of_utf8(response.body) if encoding in _UTF_8 else response.body.decode(encoding, "replace")
    except (LookupError, UnicodeError):  # unknown, or not a text encoding: some of those reject errors='replace'
        return _of_utf8(response.body)


def _of_utf8(body: bytes) -> str:
    """Decodes as UTF-8. Invalid bytes become U+FFFD, unless no character beyond ASCII is valid: then the text is in
    Windows-1252, which includes ISO-8859-1. Most texts that are sent without a charset are, and browsers assume it."""
    text = body.decode("utf-8", "replace")
    if "\ufffd" not in text or "\ufffd".encode() in body or _BEYOND_ASCII.search(text):
        return text
    return body.decode("cp1252", "replace")


def _encoding(response: Response, declared: str) -> str:
    """That of the byte order mark, or else the declared one, or else UTF-8. Raises LookupError for an unknown one."""
    if marked := next((encoding for mark, encoding in BYTE_ORDER_MARKS if response.body.startswith(mark)), ""):
        return marked
    name = codecs.lookup(declared or "utf-8").name
    if name in _OF_DOMAIN_NAMES:
        raise LookupError(name)
    return name


def _charset(response: Response) -> str:
    content_type = response.headers.get("content-type", "")
    if "charset" not in content_type.lower():
        return ""
    match = re.search(r"charset\s*=\s*\"?([\w.:-]{1,40})", content_type, re.IGNORECASE)
    return match[1] if match else ""


def _is_utf8(response: Response) -> bool:
    return not response.body.startswith(_MARKS) and _charset(response).lower() in ("", "utf-8", "utf8", "us-ascii")


def _garbled(what: str, reason: str) -> UpstreamGarbled:
    return UpstreamGarbled(
        f"Upstream answered with {what}.",
        reason=reason,
        suggestion="Try again. If the error persists, tell the operator: the API's address or credential may be wrong.",
    )


# -- XML as data ------------------------------------------------------------------------------------


class _NotXml(ValueError):
    """The text is not XML, or has an unsupported declaration."""


def _text_of_xml(response: Response) -> str:
    """Decodes by the byte order mark, or else by the encoding that the XML declares, or else by the declared charset.
    Raises _NotXml."""
    own = _XML_ENCODING.match(response.body)
    try:
        return response.body.decode(_encoding(response, own[1].decode() if own else _charset(response)))
    except (LookupError, UnicodeError):
        raise _NotXml("its encoding is unknown or wrong") from None


def _parsed_xml(text: str) -> dict[str, Any]:
    """{"order": {"@id": "7", "line": [{…}, {…}], "note": "text"}}: attributes with @, the text next to attributes or
    elements as #text, repeated elements as a list. Raises _NotXml, also for a document type, since it can declare
    entities and files to fetch."""
    reader = _XmlReader()
    parser = expat.ParserCreate(namespace_separator=None)
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _reject_doctype
    parser.buffer_text = True
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise _NotXml(f"line {error.lineno}") from None
    return reader.root


def _reject_doctype(*declared: Any) -> None:
    raise _NotXml("it has a document type")


class _XmlReader:
    def __init__(self) -> None:
        self.root: dict[str, Any] = {}
        self._open: list[tuple[dict[str, Any], list[str]]] = [(self.root, [])]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) > DEEPEST_XML:
            raise _NotXml(f"it is nested more than {DEEPEST_XML} levels deep")
        self._open.append(({f"@{key}": value for key, value in attributes.items()}, []))

    def characters(self, text: str) -> None:
        self._open[-1][1].append(text)

    def end(self, name: str) -> None:
        content, texts = self._open.pop()
        text = "".join(texts).strip()
        value: Any = {**content, TEXT_OF_ELEMENT: text} if content and text else content or text or None
        above = self._open[-1][0]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], _RepeatedElements):
            above[name].append(value)
        else:
            above[name] = _RepeatedElements([above[name], value])


class _RepeatedElements(list[Any]):
    """Elements with the same name. The value of a single element is never a list."""
