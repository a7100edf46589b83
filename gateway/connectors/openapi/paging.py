"""How an upstream pages its lists, as recognised from its document."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gateway.connectors.openapi import conventions
from gateway.connectors.openapi.responses import Answer


class PagingStyle(StrEnum):
    """How the next page is found: by the number of rows or of pages so far; by a cursor in the response, or by the id
    of its last row; or at the URL in its body or in its Link header."""

    OFFSET = "offset"
    PAGE = "page"
    CURSOR = "cursor"
    LAST_ID = "last_id"
    NEXT_URL = "next_url"
    LINK = "link"


@dataclass(frozen=True, slots=True)
class Paging:
    """`size` and `position` are names of upstream's parameters; `start` is the number of the first page. `next`,
    `has_more` and `total` are dotted paths in the response; `total` may also be "header:x-total-count". Unknown values
    are empty. With the styles OFFSET and PAGE, `next` only shows whether there are more pages."""

    style: PagingStyle
    size: str = ""
    size_default: int | None = None
    size_maximum: int | None = None
    position: str = ""
    start: int = 0
    next: str = ""
    has_more: str = ""
    total: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON types; `from_document` reads it back."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    @classmethod
    def from_document(cls, stored: Mapping[str, Any]) -> "Paging":
        """Raises TypeError or ValueError for anything that `document` cannot have returned."""
        return cls(**{**stored, "style": PagingStyle(stored["style"])})

    @property
    def parameters(self) -> frozenset[str]:
        """Upstream's parameters that Sluice sets, so that callers no longer can."""
        backwards = conventions.BACKWARDS.get(self.position)
        return frozenset(filter(None, (self.size, self.position, backwards)))


_LOOKED_INTO = re.compile(
    r"meta|metadata|_?links?|pag(?:e|ing|ination)|pageable|cursors?|response_?metadata|page_?info|search_?metadata|"
    r"data|result|response|d|_meta|list_?info|paging_?info|next|pages",
    re.IGNORECASE,
)
_MAXIMUM = re.compile(
    r"max(?:imum)?\b[^.\d]{0,25}(\d{1,5})\b|up to (\d{1,5})\b|between \d+ and (\d{1,5})\b"
    r"|\b1 ?(?:to|-|–|\.\.) ?(\d{1,5})\b",
    re.IGNORECASE,
)
_FROM_ZERO = re.compile(
    r"zero[- ]based|0[- ](?:based|indexed)|(?:start\w*|begin\w*) (?:at|from|with) (?:0|zero)|index.{0,12}0\.\.", re.I
)
_A_DATE = re.compile(r"date|time|iso.?8601", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A query parameter that paging may use. `schema` is whole, with its description."""

    name: str
    schema: Mapping[str, Any]


def recognised(parameters: Sequence[QueryParameter], answer: Answer, rows: str) -> Paging | None:
    """How the list with these parameters and this response is paged; None if that cannot be recognised."""
    by_name = {each.name.lower(): each for each in parameters if not _is_date(each.schema)}
    fields = dict(_response_fields(answer))
    size = _first(by_name, conventions.SIZES)
    found = _by_position(by_name, fields, answer, rows, size)
    if found is None:
        return None
    style, position, following = found
    schema = size.schema if size else {}
    return Paging(
        style=style,
        size=size.name if size else "",
        size_default=_whole(schema.get("default")),
        size_maximum=_maximum(schema),
        position=position.name if position else "",
        start=_start(position.schema, fields) if position and style is PagingStyle.PAGE else 0,
        next=following,
        has_more=_path(fields, conventions.HAS_MORE),
        total=_total(fields, answer),
    )


_Found = tuple[PagingStyle, QueryParameter | None, str]


def _by_position(
    by_name: Mapping[str, QueryParameter],
    fields: Mapping[str, str],
    answer: Answer,
    rows: str,
    size: QueryParameter | None,
) -> _Found | None:
    others = {name: each for name, each in by_name.items() if each is not size}
    next_url, next_cursor = _path(fields, conventions.NEXT_URLS), _path(fields, conventions.NEXT_CURSORS)
    next_cursor = "" if "link" in next_cursor.lower() else next_cursor
    page, offset, cursor, last_id = (
        _first(others, names)
        for names in (conventions.PAGES, conventions.OFFSETS, conventions.CURSORS, conventions.LAST_IDS)
    )
    if (token := cursor or last_id) and next_cursor and not _is_numeric(token):
        return PagingStyle.CURSOR, token, next_cursor
    if "link" in answer.headers:
        return PagingStyle.LINK, page or cursor or offset, ""
    if cursor and next_url and not _is_numeric(cursor):
        return PagingStyle.NEXT_URL, cursor, next_url
    if last_id and "id" in answer.properties_of(answer.row_schema(rows)):
        return PagingStyle.LAST_ID, last_id, ""
    if offset:
        return PagingStyle.OFFSET, offset, next_url
    if page and not _is_opaque(page):
        return PagingStyle.PAGE, page, next_url
    if page and next_cursor:
        return PagingStyle.CURSOR, page, next_cursor
    if next_url:
        return PagingStyle.NEXT_URL, page, next_url
    return (PagingStyle.PAGE, page, "") if page else None


def _is_opaque(parameter: QueryParameter) -> bool:
    """Whether it may be a token. Some documents declare page numbers as strings, so the name counts as well."""
    is_text = "string" in str(parameter.schema.get("type"))
    return is_text and not re.search(r"num|no$|index|-n$", parameter.name, re.IGNORECASE)


def _is_numeric(parameter: QueryParameter) -> bool:
    return "integer" in str(parameter.schema.get("type"))


def _first(by_name: Mapping[str, QueryParameter], names: Sequence[str]) -> QueryParameter | None:
    return next((by_name[name] for name in names if name in by_name), None)


def _response_fields(answer: Answer) -> Iterator[tuple[str, str]]:
    """(folded path, path) of the response's fields, the outermost first. Folded: in lower case, without underscores and
    hyphens."""
    waiting = [("", answer.properties(), 0)]
    while waiting:
        above, properties, level = waiting.pop(0)
        for name, schema in properties.items():
            path = f"{above}.{name}" if above else name
            yield _folded(path), path
            if level < 2 and _LOOKED_INTO.fullmatch(name):
                waiting.append((path, answer.properties_of(schema), level + 1))


def _folded(path: str) -> str:
    return path.lower().replace("_", "").replace("-", "")


def _path(fields: Mapping[str, str], wanted: Sequence[str]) -> str:
    """The path of the first of these names that occurs, as a whole path or at the end of one."""
    for name in wanted:
        if name in fields:
            return fields[name]
        ending = next((path for folded, path in fields.items() if folded.endswith(f".{name}")), None)
        if ending is not None:
            return ending
    return ""


def _total(fields: Mapping[str, str], answer: Answer) -> str:
    header = next((name for name in conventions.TOTAL_HEADERS if name in answer.headers), None)
    return _path(fields, conventions.TOTALS) or (f"header:{header}" if header else "")


def _start(schema: Mapping[str, Any], fields: Mapping[str, str]) -> int:
    """The number of the first page. Most APIs count from 1; Spring's (with totalElements and number in the response)
    from 0."""
    for said in (schema.get("default"), schema.get("minimum")):
        if said in (0, 1) and not isinstance(said, bool):
            return int(said)
    from_zero = _FROM_ZERO.search(str(schema.get("description") or ""))
    return 0 if from_zero or any(name.endswith("totalelements") for name in fields) else 1


def _maximum(schema: Mapping[str, Any]) -> int | None:
    declared = _whole(schema.get("maximum"))
    if declared:
        return declared if declared < 2**31 - 1 else None
    match = _MAXIMUM.search(str(schema.get("description") or ""))
    return next((int(group) for group in match.groups() if group and int(group)), None) if match else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _is_date(schema: Mapping[str, Any]) -> bool:
    """Whether it is a point in time: `after` and `from` name times as often as positions."""
    if schema.get("format") in ("date", "date-time"):
        return True
    described = str(schema.get("description") or "")
    return bool(_A_DATE.search(described)) and not re.search(
        r"cursor|page|pagina|token|offset", described, re.IGNORECASE
    )
