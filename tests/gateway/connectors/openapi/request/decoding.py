"""A reference decoder of OpenAPI's styles, written from the specification and from nothing of ours: what a server reads
out of a path, a query or a form."""

import re
from typing import Any
from urllib.parse import parse_qsl, unquote

from gateway.connectors.openapi.document.description import Place


def path(template: str, sent: str, place: Place, like: Any) -> Any:
    """The value of the only placeholder."""
    before, _, after = template.partition("{" + place.name + "}")
    assert sent.startswith(before)
    assert sent.endswith(after)
    raw = sent[len(before) : len(sent) - len(after)]
    assert "/" not in raw
    if place.style == "matrix":
        return _matrix(raw, place, like)
    between = "." if place.style == "label" and place.explode else ","
    return _split(raw.removeprefix("." if place.style == "label" else ""), between, place.explode, like)


def _matrix(raw: str, place: Place, like: Any) -> Any:
    pairs = [each.partition("=")[::2] for each in raw.split(";")[1:]]
    if place.explode and isinstance(like, dict):
        return {unquote(name): unquote(value) for name, value in pairs}
    assert all(unquote(name) == place.name for name, _ in pairs)
    values = [value for _, value in pairs]
    return [unquote(each) for each in values] if place.explode and isinstance(like, list) else _split(
        values[0], ",", False, like
    )  # fmt: skip


def _split(raw: str, between: str, explode: bool, like: Any) -> Any:
    if not isinstance(like, (list, dict)):
        return unquote(raw)
    pieces = raw.split(between)
    if isinstance(like, list):
        return [unquote(each) for each in pieces]
    if explode:
        return {unquote(name): unquote(value) for name, _, value in (each.partition("=") for each in pieces)}
    return {unquote(name): unquote(value) for name, value in zip(pieces[::2], pieces[1::2], strict=True)}


def query(sent: str, place: Place, like: Any) -> Any:
    pairs = [each.partition("=")[::2] for each in sent.split("&")]
    if place.style == "deepObject":
        return brackets(sent)[place.name]
    if place.explode and isinstance(like, dict):
        return {unquote(name): unquote(value) for name, value in pairs}
    assert all(unquote(name) == place.name for name, _ in pairs)
    if place.explode and isinstance(like, list):
        return [unquote(value) for _, value in pairs]
    between = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}.get(place.style, ",")
    return _split(pairs[0][1], between, False, like)


def brackets(sent: str) -> Any:
    """A form as PHP, Rack and Stripe read it: a[b][0]=c."""
    result: dict[str, Any] = {}
    for name, value in parse_qsl(sent, keep_blank_values=True, strict_parsing=True):
        first, rest = re.fullmatch(r"([^\[]+)((?:\[[^\]]*\])*)", name).groups()
        steps = [first, *re.findall(r"\[([^\]]*)\]", rest)]
        node = result
        for step in steps[:-1]:
            node = node.setdefault(step, {})
        node[steps[-1]] = value
    return _lists(result)


def _lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and list(node) == [str(number) for number in range(len(node))]:
        return [_lists(each) for each in node.values()]
    return {name: _lists(each) for name, each in node.items()}
