"""A client that follows an answer's own instructions literally, and puts what it gets together again.

It knows nothing of the server but the documented shapes; `call(operation, arguments)` is its only way in.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from context_protection.core import tables

Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]
LONGEST_WALK = 5000


def next_of_list(answer: Mapping[str, Any]) -> str | None:
    return answer.get("nextCursor")


def next_of_record(answer: Mapping[str, Any]) -> str | None:
    """Of a part. A field of that name of a whole record is the record's own; where a part has one, our cursor is in
    its meta."""
    meta = ours(answer)
    return meta.get("nextCursor", answer.get("nextCursor")) if meta.get("kind") == "part" else None


def pages(
    call: Call, operation: str, arguments: Mapping[str, Any], following: Callable[..., str | None] = next_of_list
) -> Iterator[dict[str, Any]]:
    """Every answer from the first to the one without nextCursor."""
    answer = call(operation, arguments)
    for _ in range(LONGEST_WALK):
        yield answer
        cursor = following(answer)
        if cursor is None:
            return
        answer = call(operation, {**arguments, "cursor": cursor})
    raise AssertionError("the walk does not end")


def rows(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    return tables.rows(answer["table"]) if "table" in answer else answer["items"]


def walk(call: Call, operation: str, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [row for page in pages(call, operation, arguments) for row in rows(page)]


def text(call: Call, operation: str, arguments: Mapping[str, Any]) -> str:
    return "".join(page["content"] for page in pages(call, operation, arguments))


def record(call: Call, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The whole record: as it came, or from the parts of `fields=all` that a preview points to."""
    answer = call(operation, arguments)
    if is_preview(answer):
        operation, arguments = details(answer["meta"]["detailsAvailable"])
    return from_parts(call, operation, arguments)


def by_sections(call: Call, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The whole record from the sections that its preview names."""
    preview = call(operation, arguments)
    more = preview["meta"]["detailsAvailable"]
    operation, arguments = details(more)
    whole: dict[str, Any] = {}
    for section in more["sections"]:
        whole.update(from_parts(call, operation, {**arguments, "fields": section}))
    return whole


def from_parts(call: Call, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    whole: Any = None
    for part in pages(call, operation, arguments, next_of_record):
        meta = ours(part)
        piece = own(part)
        whole = piece if whole is None else merge(whole, piece, "", meta.get("continues"))
    return whole


def merge(whole: Any, piece: Any, path: str, continued: str | None) -> Any:
    """Adds the next part of a record to `whole`. `continued`: the path of the value that the part continues."""
    if isinstance(whole, str):
        return whole + piece
    if isinstance(whole, list):
        last = f"{path}{len(whole) - 1}"
        if continued is not None and (continued == last or continued.startswith(f"{last}.")):
            return [*whole[:-1], merge(whole[-1], piece[0], f"{last}.", continued), *piece[1:]]
        return [*whole, *piece]
    if isinstance(whole, dict):
        merged = dict(whole)
        for name, value in piece.items():
            merged[name] = merge(whole[name], value, f"{path}{name}.", continued) if name in whole else value
        return merged
    return piece


def ours(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Our meta is the first key of an answer; where the record has a `meta` of its own, ours has an underscore more."""
    meta: dict[str, Any] = answer[next(iter(answer))]
    return meta


def own(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The object's own fields."""
    added = {next(iter(answer))}
    if ours(answer).get("kind") == "part" and "nextCursor" not in ours(answer):
        added.add("nextCursor")
    return {name: value for name, value in answer.items() if name not in added}


def is_preview(answer: Mapping[str, Any]) -> bool:
    return set(answer) == {"summary", "meta"} and answer["meta"]["kind"] == "preview"


def details(more: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call that `detailsAvailable` spells out, in any door's form."""
    if more.get("tool") == "call_tool":
        return more["arguments"]["name"], dict(more["arguments"]["arguments"])
    if "tool" in more:
        return more["tool"], dict(more["arguments"])
    from tests.doors import ADDRESSES, TEMPLATES

    if "resource" in more:
        address, _, query = more["resource"].partition("?")
        for operation, template in TEMPLATES.items():
            prefix = template.partition("{id}")[0]
            if address.startswith(prefix):
                return operation, {"id": unquote(address.removeprefix(prefix)), **dict(parse_qsl(query))}
        raise AssertionError(f"nothing answers at {more['resource']}")
    for operation, address in ADDRESSES.items():
        prefix, identifier, _ = address.partition("{id}")
        if identifier and more["endpoint"].startswith(prefix):
            return operation, {"id": more["endpoint"].removeprefix(prefix), **more["parameters"]}
        if not identifier and more["endpoint"] == address:
            return operation, dict(more["parameters"])
    raise AssertionError(f"nothing answers at {more['endpoint']}")
