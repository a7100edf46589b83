"""Data that upstream sends beside the rows of a paged list, such as the `included` objects of JSON:API. Each upstream
page may have its own."""

from collections.abc import Mapping, Sequence
from typing import Any

LATER = "laterPages"


def added(page: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The side data of a page, without values that the previous page has too."""
    found: dict[str, Any] = {}
    for name, value in page.items():
        known = before.get(name)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            if inner := added(value, known):
                found[name] = inner
        elif name not in before or value != known:
            found[name] = value
    return found


def joined(pages: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Joins what each page adds: {"included": […], "laterPages": [{"included": […]}]}."""
    first, *later = [page for page in pages if page] or [{}]
    return {**first, LATER: later} if later else first
