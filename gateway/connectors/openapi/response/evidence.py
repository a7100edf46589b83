"""Finds out from a list's response, not from the document, whether there are further rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.paging import LOOKED_INTO
from gateway.connectors.openapi.document.wording import folded
from gateway.connectors.openapi.response.dotted_paths import at
from gateway.connectors.openapi.response.page_steps import is_cursor, linked
from gateway.upstreams.request import Response

LEVELS = 3
LEADING_NAMES = (*conventions.HAS_MORE, *conventions.NEXT_CURSORS, *conventions.NEXT_URLS)


def of_more(response: Response, body: Any, rows: str, so_far: int) -> str:
    """The statement that more rows follow, such as "has_more: true"; "" if there is none. `rows`: the path of the rows.
    `so_far`: their number, with those of earlier pages."""
    if linked(response):
        return "a Link header with rel=next"
    fields = _FieldsAround(body, rows)
    if flag := next((each for each in fields.called(conventions.HAS_MORE) if isinstance(each[1], bool)), None):
        return f"{flag[0]}: true" if flag[1] else ""
    following = (path for path, value in fields.called(conventions.SURELY_NEXT) if _leads_on(value))
    if path := next(following, None):
        return path
    totals = fields.called(conventions.TOTALS)
    larger = (f"{path}: {value:,}" for path, value in totals if type(value) is int and value > so_far)
    return next(larger, "")


def may_lead_on(response: Response, body: Any, rows: str) -> bool:
    """Whether the response has anything from which its paging may be recognised."""
    if linked(response):
        return True
    fields = _FieldsAround(body, rows)
    return any(_leads_on(value) for _, value in (*fields.called(LEADING_NAMES), *fields.beginning_with("next")))


class _FieldsAround:
    """The fields around the rows, by their names."""

    def __init__(self, body: Any, rows: str) -> None:
        self._fields = dict(_fields(body, rows))
        self._by_ending: dict[str, list[tuple[str, Any]]] = {}
        for path, found in self._fields.items():
            ending = path
            while ending:
                self._by_ending.setdefault(ending, []).append(found)
                ending = ending.partition(".")[2]

    def called(self, names: Sequence[str]) -> list[tuple[str, Any]]:
        """The (path, value) pairs of fields whose path equals or ends with one of the names, in the order of the
        names."""
        if self._by_ending.keys().isdisjoint(names):  # true of most responses
            return []
        return [found for name in names if name in self._by_ending for found in self._by_ending[name]]

    def beginning_with(self, start: str) -> list[tuple[str, Any]]:
        """The (path, value) pairs of fields whose own name begins with `start`."""
        return [found for path, found in self._fields.items() if path.rpartition(".")[2].startswith(start)]


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


def _leads_on(value: Any) -> bool:
    """Whether the value may be a cursor, a URL, a link or the flag that more follows."""
    if isinstance(value, Mapping):
        return isinstance(at(value, "href"), str)
    return value is True or is_cursor(value)
