"""Parses the bytes of an OpenAPI document, or raises an error that says what they are instead."""

import json
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from context_protection.core import json_values
from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi import yaml_documents
from gateway.connectors.openapi.encodings import MARKS
from gateway.connectors.openapi.yaml_documents import YamlError
from gateway.upstreams.nesting import DEEPEST

EXPECTED = "an OpenAPI 3.0 or 3.1 document, as JSON or YAML"
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
    "Convert it to OpenAPI 3 first (npx swagger2openapi, or editor.swagger.io → Edit → Convert), then import that."
)


class DocumentError(InvalidArgument):
    """Not an OpenAPI 3.x document. The message says what it is, the suggestion what to do."""


def parse(data: bytes) -> Mapping[str, Any]:
    """The document, with strings as keys and an `openapi` of 3.x at its top. Raises DocumentError."""
    if len(data) > settings.LARGEST_DOCUMENT:
        raise _rejected(
            f"The document has {len(data) / 2**20:,.0f} MB.",
            "document_too_large",
            f"Import a part of it: at most {settings.LARGEST_DOCUMENT // 2**20} MB.",
        )
    document = _loaded(_decoded(data))
    if not isinstance(document, Mapping):
        raise _rejected(f"The document is {_named(document)}, not an object.", "not_openapi", _ask_for_the_document())
    _check_version(document)
    return document


def _decoded(data: bytes) -> str:
    encoding = next((encoding for mark, encoding in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding).strip()
    except UnicodeDecodeError:
        raise _rejected(
            "The document is no text: it is neither UTF-8 nor UTF-16.",
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
        f"The document is no valid JSON: {problem}{where}.",
        "invalid_json",
        "Correct it there, or fetch it again whole.",
    )


def _loaded_yaml(text: str) -> Any:
    try:
        return yaml_documents.load(text)
    except YamlError as error:
        where = f" in line {error.line}" if error.line else ""
        raise _rejected(
            f"The document is no valid YAML: {error}{where}.",
            "invalid_yaml",
            "Correct it there, or fetch it again whole.",
        ) from None


def _check_version(document: Mapping[str, Any]) -> None:
    if "swagger" in document:
        raise _rejected(f"The document is Swagger {str(document['swagger'])[:20]}.", "swagger_2", _CONVERT)
    version = document.get("openapi")
    if version is None:
        other = next((words for key, words in _OTHERS.items() if key in document), None)
        what = f"The document is {other}." if other else "The document does not say openapi: 3.x at its top."
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
