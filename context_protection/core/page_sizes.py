"""How many rows a page of a list has at most: the caller's limit, or what ops have set."""

from context_protection.core.cursors import Snapshot
from context_protection.core.errors import InvalidArgument
from context_protection.core.payloads import AnswerRequest, Rows
from context_protection.core.policy import DEFAULTS, Policy

# The most rows of an answer if paging is switched off, and before a page that is requested by number.
UNPAGED_ROWS = 2000


def page_size(limit: int | None, policy: Policy) -> int:
    """The number of rows of a page. A limit out of range is an error; it is never silently reduced (FR-002)."""
    if limit is None:
        return policy.default_page_size
    if 1 <= limit <= policy.max_page_size:
        return limit
    wrong = "is below 1" if limit < 1 else f"exceeds maximum of {policy.max_page_size}"
    raise InvalidArgument(
        f"limit {wrong}.",
        reason="invalid_limit",
        parameter="limit",
        value=limit,
        expected=f"a whole number from 1 to {policy.max_page_size}",
        suggestion=f"Set limit to {1 if limit < 1 else policy.max_page_size}, and follow nextCursor for more rows.",
    )


def size_of_first(request: AnswerRequest, policy: Policy, *, fills: bool) -> int:
    """The page size of a new snapshot. `fills`: without a limit, a page has as many rows as the budget allows. Pages
    that are requested by number, or whose size ops have set, have the policy's size."""
    return _size(request.limit, request, policy, fills=fills)


def _size(limit: int | None, request: AnswerRequest, policy: Policy, *, fills: bool) -> int:
    is_open = fills and limit is None and not request.pages
    is_set = policy.default_page_size != DEFAULTS.default_page_size
    return policy.max_page_size if is_open and not is_set else page_size(limit, policy)


def size_of_next(request: AnswerRequest, snapshot: Snapshot, policy: Policy, *, fills: bool) -> int:
    """The page size of a continued snapshot: the limit of this call, or else that of the first page."""
    first = snapshot.plan["form"]["limit"]
    # The maximum may have been lowered since the first page was sent with this limit.
    limit = request.limit if request.limit is not None else first and min(first, policy.max_page_size)
    return _size(limit, request, policy, fills=fills)


def fills_pages(rows: Rows) -> bool:
    return rows.options.fills_pages or (rows.shape.fills_pages and rows.options.condensable)
