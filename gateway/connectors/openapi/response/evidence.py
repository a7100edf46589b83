"""Finds out from a list's response, not from the document, whether there are further rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.paging import LOOKED_INTO
from gateway.connectors.openapi.document.wording import folded
from gateway.connectors.openapi.response.dotted_paths import at
from gateway.connectors.openapi.response.page_steps import linked
from gateway.upstreams.request import Response

LEVELS = 3


def of_more(response: Response, body: Any, rows: str, so_far: int) -> str:
    """The statement that more rows follow, such as "has_more: true"; "" if there is none. `rows`: the path of the rows.
    `so_far`: their number, with those of earlier pages."""
    if linked(response):
        return "a Link header with rel=next"
    fields = dict(_fields(body, rows))
    flags = [(path, value) for name in conventions.HAS_MORE for path, value in _called(fields, name)]
    if flag := next(((path, value) for path, value in flags if isinstance(value, bool)), None):
        return f"{flag[0]}: true" if flag[1] else ""
    following = (path for name in conventions.SURELY_NEXT for path, value in _called(fields, name) if _leads_on(value))
    if path := next(following, None):
        return path
    totals = (each for name in conventions.TOTALS for each in _called(fields, name))
    larger = (f"{path}: {value:,}" for path, value in totals if type(value) is int and value > so_far)
    return next(larger, "")


def may_lead_on(response: Response, body: Any, rows: str) -> bool:
    """Whether the response has anything from which its paging may be recognised."""
    if linked(response):
        return True
    fields = dict(_fields(body, rows))
    names = (*conventions.HAS_MORE, *conventions.NEXT_CURSORS, *conventions.NEXT_URLS)
    known = (value for name in names for _, value in _called(fields, name))
    next_ones = (value for path, (_, value) in fields.items() if path.rpartition(".")[2].startswith("next"))
    return any(map(_leads_on, (*known, *next_ones)))


def _fields(body: Any, rows: str) -> Iterator[tuple[str, tuple[str, Any]]]:
    """Yields (folded path, (path, value)) of the fields around the rows, the outermost first."""
    around = rows.rpartition(".")[0]
    waiting = [("", body, 1)]
    while waiting:
        above, value, level = waiting.pop(0)
        for name, each in value.items() if isinstance(value, Mapping) else ():
            path = f"{above}.{name}" if above else name
            if path == rows:
                continue
            yield folded(path), (path, each)
            if level < LEVELS and (path == around or LOOKED_INTO.fullmatch(name)):
                waiting.append((path, each, level + 1))


def _called(fields: Mapping[str, tuple[str, Any]], name: str) -> Iterator[tuple[str, Any]]:
    """The fields whose path equals or ends with the name."""
    return (found for path, found in fields.items() if path == name or path.endswith(f".{name}"))


def _leads_on(value: Any) -> bool:
    """Whether the value may be a cursor, a URL, a link or the flag that more follows."""
    if isinstance(value, Mapping):
        return isinstance(at(value, "href"), str)
    return value is True or (isinstance(value, str) and bool(value)) or (type(value) is int and value > 0)
