"""The data beside the rows of a list's later page, apart from its paging."""

from collections.abc import Mapping
from typing import Any

from gateway.connectors.openapi.document import conventions
from gateway.connectors.openapi.document.wording import words

PROBLEMS = frozenset({"error", "errors", "warning", "warnings", "messages"})


def of_later_page(beside: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are not about paging or the request. Fields that every page has, such as counts, links and times,
    came with the first page."""
    found: dict[str, Any] = {}
    for name, value in beside.items():
        is_usual = set(words(name)) <= conventions.BESIDE_ROWS and name.lower() not in PROBLEMS
        own = of_later_page(value) if is_usual and isinstance(value, Mapping) else None if is_usual else value
        if own not in (None, {}, []):
            found[name] = own
    return found
