"""Finds the message of an upstream's error in its body, and what it says about single fields of the request."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

MESSAGE_PATHS = (
    ("error", "message"),
    ("error", "detail"),
    ("error_description",),
    ("message",),
    ("detail",),
    ("title",),
    ("errors", 0, "message"),
    ("errors", 0, "detail"),
    ("errors", 0, "title"),
    ("errors", 0),
    ("error",),
    ("msg",),
    ("reason",),
    ("description",),
    (0, "message"),
)
# Where APIs list what is wrong with single fields: by FastAPI, Laravel, Rails, ASP.NET, RFC 9457, GitHub, JSON:API, …
_LISTS = ("errors", "detail", "details", "invalid-params", "invalidParams", "invalid_params", "violations")
_TEXTS = ("message", "msg", "detail", "reason", "description", "title", "code")
_FIELDS = ("field", "param", "parameter", "pointer", "name", "property", "propertyPath", "path", "loc", "location")
_PLACES = frozenset({"body", "query", "path", "header"})  # the first step of FastAPI's `loc`
MAX_DETAILS = 10

_Detail = tuple[str, str]  # the field, empty if none is named, and what is wrong with it


def found_in(document: Any) -> str:
    """The message, followed by what is wrong with each field; without a message, all details. Empty if there is
    neither."""
    message = _several(document) or next(filter(None, (_text(_at(document, path)) for path in MESSAGE_PATHS)), "")
    details = [each for each in islice(_details(document), MAX_DETAILS) if each[1]]
    if not message and not details:
        details = list(_by_field(document))
    texts = [f"{field}: {text}" if field else text for field, text in details if field or not message]
    is_repeated = len(texts) == 1 and bool(message) and texts[0].endswith(f": {message}")
    return texts[0] if is_repeated else "; ".join(filter(None, (message, *texts)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _several(document: Any) -> str:
    """The texts of a `message` that is a list, beside which NestJS repeats the status in words."""
    found = _at(document, ("message",))
    return "; ".join(map(_text, found[:MAX_DETAILS])) if isinstance(found, list) else ""


def _details(document: Any) -> Iterator[_Detail]:
    for holder in (document, _at(document, ("error",))):
        for name in _LISTS if isinstance(holder, Mapping) else ():
            given = holder.get(name)
            yield from _read(given)
            for each in given if isinstance(given, list) else ():
                yield from _read(_at(each, ("fieldViolations",)))  # of Google's APIs


def _read(given: Any) -> Iterator[_Detail]:
    """The details in a list, or in a map of a field's name to its messages."""
    if isinstance(given, list):
        for each in given:
            yield from [("", each)] if isinstance(each, str) else _of_object(each)
    elif isinstance(given, Mapping):
        yield from _by_field(given)


def _of_object(given: Any) -> Iterator[_Detail]:
    if isinstance(given, Mapping):
        yield _field(given), next(filter(None, (_text(given.get(name)) for name in _TEXTS)), "")


def _field(given: Mapping[str, Any]) -> str:
    source = given.get("source")
    named = {**source, **given} if isinstance(source, Mapping) else given
    found = next((named[name] for name in _FIELDS if named.get(name)), "")
    if isinstance(found, list):
        steps = found[1:] if isinstance(found[0], str) and found[0] in _PLACES else found
        return ".".join(map(str, steps))
    return found if isinstance(found, str) else ""


def _by_field(given: Any) -> Iterator[_Detail]:
    """The details of a map of field names to lists of texts."""
    for name, below in islice(given.items(), MAX_DETAILS) if isinstance(given, Mapping) else ():
        texts = [each for each in below if isinstance(each, str)] if isinstance(below, list) else []
        if texts:
            yield str(name), " ".join(texts)


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, str):
            document = document.get(step) if isinstance(document, Mapping) else None
        else:
            document = document[step] if isinstance(document, list) and step < len(document) else None
    return document
