"""Query documents, the values of `where` and `aggregate`: JSON objects, which some clients send as text."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

import orjson

from context_protection.core.errors import InvalidArgument
from context_protection.core.query.corrections import Correctable, with_correction

JSON_CHARS = 4_000
T = TypeVar("T")


def parsed(value: Any, parameter: str, expected: str, parse: Callable[[dict[str, Any]], T]) -> T:
    """The document as `parse` reads it. Raises InvalidArgument, which suggests a corrected document where it can."""
    document = _object(value, parameter, expected)
    try:
        return parse(document)
    except Correctable as error:
        raise with_correction(error, document, parse) from None


def _object(value: Any, parameter: str, expected: str) -> dict[str, Any]:
    document = value
    if isinstance(value, str) and len(value) <= JSON_CHARS:
        try:
            document = orjson.loads(value)
        except ValueError:  # the check below rejects it
            document = None
    if not isinstance(document, dict) or not all(isinstance(name, str) for name in document):
        raise InvalidArgument(
            f"{parameter} is not an object.",
            reason=f"invalid_{parameter}",
            parameter=parameter,
            value=value,
            expected=expected,
            suggestion=f"Send {parameter} as a JSON object.",
        )
    if len(json.dumps(document, ensure_ascii=False)) > JSON_CHARS:  # the hints of each page repeat the object
        raise InvalidArgument(
            f"{parameter} is longer than {JSON_CHARS:,} characters.",
            reason=f"invalid_{parameter}",
            parameter=parameter,
            value=value,
            expected=f"at most {JSON_CHARS:,} characters of JSON",
            suggestion="Use a range instead of many values, or split them over several calls.",
        )
    return document
