"""The paging of upstream lists, as recognised from the document."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.responses import DocumentedResponse
from gateway.connectors.openapi.document.wording import folded


class PagingStyle(StrEnum):
    """Ways to find the next page: by the number of rows or pages so far, by a cursor in the response or the id of its
    last row, or by a URL in its body or Link header."""

    OFFSET = "offset"
    PAGE = "page"
    CURSOR = "cursor"
    LAST_ID = "last_id"
    NEXT_URL = "next_url"
    LINK = "link"


_POSITIONED = frozenset({PagingStyle.OFFSET, PagingStyle.PAGE, PagingStyle.CURSOR, PagingStyle.LAST_ID})
_FOUND_IN_RESPONSE = frozenset({PagingStyle.CURSOR, PagingStyle.NEXT_URL})


@dataclass(frozen=True, slots=True)
class Paging:
    """`size` and `position` are names of upstream's parameters; `start` is the number of the first page or row. `next`,
    `has_more` and `total` are dotted paths in the response; `total` may also be "header:x-total-count". Unknown values
    are empty. With the styles OFFSET and PAGE, `next` only shows whether there are more pages. With LAST_ID, `key` is
    the path of a row's id, if it is not "id", and `backwards` the parameter for rows before an id, which pages a list
    that begins with its newest row."""

    style: PagingStyle
    size: str = ""
    size_default: int | None = None
    size_maximum: int | None = None
    position: str = ""
    start: int = 0
    next: str = ""
    has_more: str = ""
    total: str = ""
    key: str = ""
    backwards: str = ""

    def document(self) -> dict[str, Any]:
        """The paging as JSON types; `from_document` reads it back."""
        return {name: value for name, value in asdict(self).items() if value not in ("", None)}

    @classmethod
    def from_document(cls, stored: Mapping[str, Any]) -> "Paging":
        """Ignores the `rows` of a setting, which are not part of the paging. Raises KeyError, TypeError or ValueError
        if `document` cannot have returned the rest."""
        own = {name: value for name, value in stored.items() if name != "rows"}
        return cls(**{**own, "style": PagingStyle(stored["style"])})

    @property
    def missing(self) -> list[str]:
        """The fields that are empty, although the style needs them."""
        needed = {"position": self.style in _POSITIONED, "next": self.style in _FOUND_IN_RESPONSE}
        return [name for name, is_needed in needed.items() if is_needed and not getattr(self, name)]

    @property
    def mistyped(self) -> list[str]:
        """The fields whose value has another type, or is a number below its minimum, as a setting in JSON may have."""
        counts = {"size_default": 1, "size_maximum": 1, "start": 0}
        values = {name: value for name, value in asdict(self).items() if value is not None}
        return [
            name
            for name, value in values.items()
            if (type(value) is not int or value < counts[name] if name in counts else not isinstance(value, str))
        ]

    @property
    def parameters(self) -> frozenset[str]:
        """The upstream parameters that Sluice sets, and callers cannot."""
        opposite = conventions.BACKWARDS.get(self.position)
        return frozenset(filter(None, (self.size, self.position, self.backwards, opposite)))


LOOKED_INTO = re.compile(
    r"meta|_?metadata|_?links?|pag(?:e|ing|ination)|pageable|cursors?|response_?metadata|page_?info|search_?metadata|"
    r"data|result|response|d|_meta|list_?info|paging_?info|next|next_?page|pages",
    re.IGNORECASE,
)
_COUNT = r"\d{1,3}(?:,\d{3})+|\d{1,5}"
_MAXIMUM = re.compile(
    rf"max(?:imum)?\b[^.\d]{{0,25}}({_COUNT})\b|up to ({_COUNT})\b|between \d+ and ({_COUNT})\b"
    rf"|\b1 ?(?:to|-|–|\.\.) ?({_COUNT})\b",
    re.IGNORECASE,
)
_FROM_ZERO = re.compile(
    r"zero[- ]based|0[- ](?:based|indexed)|(?:start\w*|begin\w*) (?:at|from|with) (?:0|zero)|index.{0,12}0\.\.", re.I
)
_FROM_ONE = re.compile(r"\b(?:one|1)[- ](?:based|indexed)", re.IGNORECASE)
_MADE_UPSTREAM = re.compile(r"cursor|opaque|token|\blink\b|header", re.IGNORECASE)
_AN_ID = re.compile(r"\bids?\b", re.IGNORECASE)
# Some documents declare a number of rows as a string.
_COUNTS_ROWS = re.compile(r"\bnumber\b|\bskip|how many|index\b|zero|\brows? ", re.IGNORECASE)
_OF_SPRING = ("totalelements", "numberofelements")  # of its pages, and of its slices, which have no total
_A_DATE = re.compile(r"date|time|iso.?8601", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A query parameter that paging may use. `schema` is complete, with its description."""

    name: str
    schema: Mapping[str, Any]


def has_position(parameters: Sequence[QueryParameter]) -> bool:
    """Whether one of the parameters may be the position of a page."""
    positions = (conventions.PAGES, conventions.OFFSETS, conventions.CURSORS, conventions.LAST_IDS, conventions.BEFORE)
    by_name = {each.name.lower(): each for each in parameters if not _is_date(each.schema)}
    return any(_first(by_name, names) for names in positions)


def recognised(parameters: Sequence[QueryParameter], answer: DocumentedResponse, rows: str) -> Paging | None:
    """The paging of the list with these parameters and this response; None if it cannot be recognised."""
    by_name = {each.name.lower(): each for each in parameters if not _is_date(each.schema)}
    fields, flags = _response_fields(answer, rows.rpartition(".")[0])
    size = _first(by_name, conventions.SIZES)
    others = {name: each for name, each in by_name.items() if each is not size}
    has_more = _path(fields | flags, conventions.HAS_MORE) or _path(flags, conventions.NEXT_FLAGS)
    found = _position(_Clues.of(others, fields, has_more), answer, rows)
    if found is None:
        return None
    position, schema = found.position, size.schema if size else {}
    return Paging(
        style=found.style,
        size=size.name if size else "",
        size_default=_whole(schema.get("default")),
        size_maximum=_maximum(schema),
        position=position.name if position else "",
        start=_start(found, fields),
        next=found.next,
        has_more=has_more,
        total=_total(fields, answer),
        key=found.key if found.key != conventions.ID else "",
        backwards=found.backwards.name if found.backwards else "",
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A style, its parameter, and the other fields of Paging that the style needs."""

    style: PagingStyle
    position: QueryParameter | None = None
    next: str = ""
    key: str = ""
    backwards: QueryParameter | None = None


@dataclass(frozen=True, slots=True)
class _Clues:
    """Clues to the paging: the parameters that may hold a position, and the response paths of the next page's cursor,
    its URL, the last row's id and the flag that rows follow ("" if none). `namesake`: a parameter and the path of its
    next value, such as `iterator` and `next_iterator`."""

    page: QueryParameter | None
    offset: QueryParameter | None
    cursor: QueryParameter | None
    last_id: QueryParameter | None
    after: QueryParameter | None
    before: QueryParameter | None
    next_cursor: str
    next_url: str
    id_of_last: str
    has_more: str
    namesake: tuple[QueryParameter, str] | None

    @classmethod
    def of(cls, parameters: Mapping[str, QueryParameter], fields: Mapping[str, str], has_more: str) -> "_Clues":
        next_cursor = _path(fields, conventions.NEXT_CURSORS)
        return cls(
            page=_first(parameters, conventions.PAGES),
            offset=_first(parameters, conventions.OFFSETS),
            cursor=_first(parameters, conventions.CURSORS),
            last_id=_first(parameters, conventions.LAST_IDS),
            after=_first(parameters, conventions.AFTER),
            before=_first(parameters, conventions.BEFORE),
            next_cursor="" if "link" in next_cursor.lower() else next_cursor,
            next_url=_path(fields, conventions.NEXT_URLS),
            id_of_last=_path(fields, conventions.IDS_OF_LAST),
            has_more=has_more,
            namesake=_namesake(parameters, fields),
        )

    @property
    def offset_token(self) -> QueryParameter | None:
        """The `offset`, if it may be a token from upstream instead of a number."""
        offset = self.offset
        if offset is None or not _is_opaque(offset) or _COUNTS_ROWS.search(str(offset.schema.get("description") or "")):
            return None
        return offset

    @property
    def id_of_a_row(self) -> QueryParameter | None:
        """The parameter `after`, or else `before`, if it may take a row's id: the response has a flag for further rows,
        or the description mentions an id, or at least no cursor or token. None if there is a parameter for the page
        number or offset, which is more reliable."""
        token = self.after or self.before
        if token is None or self.page or self.offset:
            return None
        described = str(token.schema.get("description") or "")
        return token if self.has_more or _AN_ID.search(described) or not _MADE_UPSTREAM.search(described) else None


def _namesake(parameters: Mapping[str, QueryParameter], fields: Mapping[str, str]) -> tuple[QueryParameter, str] | None:
    by_next = {f"next{folded(name)}": each for name, each in parameters.items()}
    found = ((by_next[last], path) for name, path in fields.items() if (last := name.rpartition(".")[2]) in by_next)
    return next(found, None)


def _position(clues: _Clues, answer: DocumentedResponse, rows: str) -> _Found | None:
    """The first rule that the clues satisfy."""
    return (
        _by_cursor(clues)
        or _by_link_header(clues, answer)
        or _by_url_beside_cursor(clues)
        or _by_last_id(clues, answer, rows)
        or _by_number(clues)
        or _by_next_in_response(clues)
    )


def _by_cursor(clues: _Clues) -> _Found | None:
    token = clues.cursor or clues.last_id or clues.offset_token
    is_cursor = token is not None and not _is_numeric(token) and clues.next_cursor
    return _Found(PagingStyle.CURSOR, token, clues.next_cursor) if is_cursor else None


def _by_link_header(clues: _Clues, answer: DocumentedResponse) -> _Found | None:
    position = clues.page or clues.cursor or clues.offset
    return _Found(PagingStyle.LINK, position) if "link" in answer.headers else None


def _by_url_beside_cursor(clues: _Clues) -> _Found | None:
    is_token = clues.cursor is not None and not _is_numeric(clues.cursor)
    return _Found(PagingStyle.NEXT_URL, clues.cursor, clues.next_url) if is_token and clues.next_url else None


def _by_last_id(clues: _Clues, answer: DocumentedResponse, rows: str) -> _Found | None:
    """Paging by the id of the last row, which the response states or the row contains."""
    token = clues.last_id or clues.id_of_a_row
    if token is None:
        return None
    if clues.id_of_last:
        return _Found(PagingStyle.CURSOR, token, clues.id_of_last)
    key = _id_of_row(answer, rows)
    backwards = clues.before if token is clues.after else None
    return _Found(PagingStyle.LAST_ID, token, key=key, backwards=backwards) if key else None


def _id_of_row(answer: DocumentedResponse, rows: str) -> str:
    """The path of a row's id: its own, or that of the only object in it that has one."""
    own = answer.properties_of(answer.row_schema(rows))
    if conventions.ID in own:
        return conventions.ID
    below = [name for name, schema in own.items() if conventions.ID in answer.properties_of(schema)]
    return f"{below[0]}.{conventions.ID}" if len(below) == 1 else ""


def _by_number(clues: _Clues) -> _Found | None:
    """Paging by the number of rows or pages so far. A `page` or an `offset` that may be a token does not qualify."""
    if clues.offset and not clues.offset_token:
        return _Found(PagingStyle.OFFSET, clues.offset, clues.next_url)
    is_counted = clues.page is not None and not _is_opaque(clues.page)
    return _Found(PagingStyle.PAGE, clues.page, clues.next_url) if is_counted else None


def _by_next_in_response(clues: _Clues) -> _Found | None:
    """Paging by the response's cursor or URL, for a `page` that may be a token or is missing. Without these, by the
    number of pages."""
    if clues.page and clues.next_cursor:
        return _Found(PagingStyle.CURSOR, clues.page, clues.next_cursor)
    if clues.next_url:
        return _Found(PagingStyle.NEXT_URL, clues.page or clues.offset_token, clues.next_url)
    if clues.namesake:
        return _Found(PagingStyle.CURSOR, *clues.namesake)
    return _Found(PagingStyle.PAGE, clues.page) if clues.page else None


def _is_opaque(parameter: QueryParameter) -> bool:
    """Whether the parameter may be a token. Some documents declare page numbers as strings, so the name counts too."""
    is_text = "string" in str(parameter.schema.get("type"))
    return is_text and not re.search(r"num|no$|index|-n$", parameter.name, re.IGNORECASE)


def _is_numeric(parameter: QueryParameter) -> bool:
    return "integer" in str(parameter.schema.get("type"))


def _first(by_name: Mapping[str, QueryParameter], names: Sequence[str]) -> QueryParameter | None:
    return next((by_name[name] for name in names if name in by_name), None)


def _response_fields(answer: DocumentedResponse, around: str) -> tuple[dict[str, str], dict[str, str]]:
    """The response fields that may be about paging, the outermost first, as folded path → path. The second mapping has
    the boolean fields, the first one all others. `around`: the path of the object that has the rows."""
    fields: dict[str, str] = {}
    flags: dict[str, str] = {}
    waiting = [("", answer.properties(), 0)]
    while waiting:
        above, properties, level = waiting.pop(0)
        for name, schema in properties.items():
            path = f"{above}.{name}" if above else name
            (flags if answer.is_boolean(schema) else fields)[folded(path)] = path
            if level < 2 and (LOOKED_INTO.fullmatch(name) or path == around):
                waiting.append((path, answer.properties_of(schema), level + 1))
    return fields, flags


def _path(fields: Mapping[str, str], wanted: Sequence[str]) -> str:
    """The path of the first of these names that occurs, either as a whole path or as the end of one."""
    for name in wanted:
        if name in fields:
            return fields[name]
        ending = next((path for each, path in fields.items() if each.endswith(f".{name}")), None)
        if ending is not None:
            return ending
    return ""


def _total(fields: Mapping[str, str], answer: DocumentedResponse) -> str:
    header = next((name for name in conventions.TOTAL_HEADERS if name in answer.headers), None)
    return _path(fields, conventions.TOTALS) or (f"header:{header}" if header else "")


def _start(found: _Found, fields: Mapping[str, str]) -> int:
    """The number of the first page or row. Most APIs count pages from 1 and rows from 0; Spring's (with totalElements
    or numberOfElements in the response) count pages from 0, SCIM counts rows from 1."""
    if found.position is None or found.style not in (PagingStyle.PAGE, PagingStyle.OFFSET):
        return 0
    schema = found.position.schema
    if found.style is PagingStyle.OFFSET:
        return int(1 in (schema.get("default"), schema.get("minimum")) or _is_from_one(schema))
    for declared in (schema.get("default"), schema.get("minimum")):
        if declared in (0, 1) and not isinstance(declared, bool):
            return int(declared)
    from_zero = _FROM_ZERO.search(str(schema.get("description") or ""))
    return 0 if from_zero or any(name.endswith(_OF_SPRING) for name in fields) else 1


def _is_from_one(schema: Mapping[str, Any]) -> bool:
    return bool(_FROM_ONE.search(str(schema.get("description") or "")))


def _maximum(schema: Mapping[str, Any]) -> int | None:
    declared = _whole(schema.get("maximum"))
    if declared:
        return declared if declared < 2**31 - 1 else None
    match = _MAXIMUM.search(str(schema.get("description") or ""))
    counts = (int(group.replace(",", "")) for group in match.groups() if group) if match else ()
    return next((count for count in counts if count), None)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _is_date(schema: Mapping[str, Any]) -> bool:
    """Whether the parameter is a point in time: `after` and `from` are common names of both times and positions."""
    if schema.get("format") in ("date", "date-time"):
        return True
    described = str(schema.get("description") or "")
    return bool(_A_DATE.search(described)) and not re.search(
        r"cursor|page|pagina|token|offset", described, re.IGNORECASE
    )
