"""Downloads and parses an OpenAPI document. If the data is something else, the error says what it is."""

import codecs
import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from context_protection.core import json_values
from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.document import yaml_documents
from gateway.connectors.openapi.document.yaml_documents import YamlError
from gateway.upstreams.addresses import check_url
from gateway.upstreams.client import Upstream
from gateway.upstreams.json_depth import DEEPEST
from gateway.upstreams.limits import CallLimits
from gateway.upstreams.request import Request

ACCEPT = "application/json, application/yaml, text/yaml, */*;q=0.5"
EXPECTED = "an OpenAPI 3.0 or 3.1 document, as JSON or YAML"
BYTE_ORDER_MARKS = (  # with their encodings; longest first, since UTF-32's begins with UTF-16's
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Top-level keys of other formats that describe APIs.
_OTHERS = {
    "asyncapi": "an AsyncAPI document, which describes messages",
    "arazzo": "an Arazzo document, which describes workflows",
    "overlay": "an OpenAPI overlay, which changes another document",
    "discoveryVersion": "a Google discovery document",
    "swaggerVersion": "a Swagger 1 document",
    "__schema": "a GraphQL schema",
    "item": "a Postman collection",
    "log": "a HAR archive",
}
_CONVERT = (
    "Convert it to OpenAPI 3 first: npx swagger2openapi --patch -o openapi.json, followed by the document's file or "
    "address, or at editor.swagger.io: Edit → Convert to OpenAPI 3. Then import openapi.json."
)


class DocumentError(InvalidArgument):
    """The document is not an OpenAPI 3.x document. The message says what it is, and the suggestion says what to do."""


async def fetched(url: str) -> bytes:
    """The document's bytes. Raises UpstreamError, also for an address that Sluice does not connect to."""
    check_url(url)
    upstream = Upstream("the document", limits=CallLimits(most_bytes=settings.LARGEST_DOCUMENT))
    response = await upstream.fetch(Request("GET", url, {"accept": ACCEPT}))
    return response.body


def parse(data: bytes) -> Mapping[str, Any]:
    """The document, with string keys and a top-level `openapi` of 3.x. Raises DocumentError."""
    if len(data) > settings.LARGEST_DOCUMENT:
        raise _rejected(
            f"The size of the document is {len(data) / 2**20:,.0f} MB.",
            "document_too_large",
            f"Import a part of it: at most {settings.LARGEST_DOCUMENT // 2**20} MB.",
        )
    document = _loaded(_decoded(data))
    if not isinstance(document, Mapping):
        raise _rejected(f"The document is {_named(document)}, not an object.", "not_openapi", _ask_for_the_document())
    _check_version(document)
    return document


def _decoded(data: bytes) -> str:
    encoding = next((encoding for mark, encoding in BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding).strip()
    except UnicodeDecodeError:
        raise _rejected(
            "The document is not text: it is neither UTF-8 nor UTF-16.",
            "not_text",
            "If it is an archive, unpack it; if it is in an old encoding, save it as UTF-8.",
        ) from None
    if not text:
        raise _rejected("The document is empty.", "empty_document", _ask_for_the_document())
    if text.startswith("<"):
        is_page = "<html" in text[:2000].lower() or text[:9].lower() == "<!doctype"
        raise _rejected(
            f"The document is {'an HTML page' if is_page else 'XML'}.",
            "not_openapi",
            "Give the address of the document itself: a documentation page links to it, often as openapi.json, and "
            "GitHub has it under Raw.",
        )
    return text


def _loaded(text: str) -> Any:
    if text[0] not in "{[":
        return _loaded_yaml(text)
    try:
        document = json_values.loads(text.encode("utf-8", "replace"))
        if json_values.is_within(document, DEEPEST):
            return document
        problem, where = f"it is nested more than {DEEPEST} levels deep", ""
    except json.JSONDecodeError as error:
        problem, where = error.msg, f" in line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        problem, where = "it is nested too deeply", ""
    raise _rejected(
        f"The document is not valid JSON: {problem}{where}.",
        "invalid_json",
        "Correct it there, or download the whole document again.",
    )


def _loaded_yaml(text: str) -> Any:
    try:
        return yaml_documents.load(text)
    except YamlError as error:
        where = f" in line {error.line}" if error.line else ""
        raise _rejected(
            f"The document is not valid YAML: {error}{where}.",
            "invalid_yaml",
            "Correct it there, or download the whole document again.",
        ) from None


def _check_version(document: Mapping[str, Any]) -> None:
    if "swagger" in document:
        raise _rejected(f"The document is Swagger {str(document['swagger'])[:20]}.", "swagger_2", _CONVERT)
    version = document.get("openapi")
    if version is None:
        other = next((words for key, words in _OTHERS.items() if key in document), None)
        what = f"The document is {other}." if other else "The document has no openapi: 3.x at its top level."
        raise _rejected(what, "not_openapi", _ask_for_the_document())
    if str(version).strip().partition(".")[0] != "3":
        raise _rejected(f"The document is OpenAPI {str(version)[:20]}.", "unknown_version", _CONVERT)


def _named(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "one line of text" if isinstance(value, str) else "a single value"


def _ask_for_the_document() -> str:
    return "Give the API's OpenAPI document: its provider publishes it, often as openapi.json or openapi.yaml."


def _rejected(message: str, reason: str, suggestion: str) -> DocumentError:
    return DocumentError(message, reason=reason, parameter="document", expected=EXPECTED, suggestion=suggestion)
