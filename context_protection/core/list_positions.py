"""Where a page begins: the position in a list's cursor, or a span of page numbers."""

import re
from typing import Any, NamedTuple

from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import AnswerRequest

MAX_PAGES = 10  # in one answer
_SPAN = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", re.ASCII)


class ListPosition(NamedTuple):
    """`place`: where the list's source continues. `before`: the number of rows before the page. `number`: the page
    number, from 1; 0 if it is unknown, because the cursor is from a version that did not count pages."""

    place: Any
    before: int
    number: int = 0

    @classmethod
    def of(cls, request: AnswerRequest) -> "ListPosition":
        """The position of the request's cursor."""
        return cls(*request.position)

    def after(self, place: Any, count: int) -> tuple[Any, int, int]:
        """The position after `count` more rows, as a JSON value."""
        return place, self.before + count, self.number and self.number + 1


def page_span(pages: str, *, with_cursor: bool = False) -> tuple[int, int]:
    """Parses `pages` into the first and the last page: "2-4", or "3" for the first three. Raises InvalidArgument, also
    if the call has a cursor."""
    match = _SPAN.fullmatch(pages)
    if match and not with_cursor:
        first, last = (int(match[1]), int(match[2])) if match[2] else (1, int(match[1]))
        if 1 <= first <= last < first + MAX_PAGES:
            return first, last
    raise InvalidArgument(
        "pages and cursor exclude each other." if with_cursor else "pages is not a span of pages.",
        reason="invalid_pages",
        parameter="pages",
        value=pages,
        expected=f"a span such as 1-3, of at most {MAX_PAGES} pages, without a cursor",
        suggestion="Leave cursor out." if with_cursor else "Set pages to 1-3.",
    )
