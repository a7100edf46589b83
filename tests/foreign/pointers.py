"""The calls that an answer names."""

from collections.abc import Iterator, Mapping
from typing import Any


def pointers(answer: Any, name: str, given: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Its next page, the details of it and of its rows, and what is beside them."""
    if isinstance(answer, list):
        for each in answer:
            yield from pointers(each, name, given)
    if not isinstance(answer, dict):
        return
    cursor = answer.get("nextCursor")
    if isinstance(cursor, str):
        yield name, {**given, "cursor": cursor}
    for key, each in answer.items():
        if (
            key in ("detailsAvailable", "whole", "beside")
            and isinstance(each, dict)
            and ("endpoint" in each or "tool" in each)
        ):
            target = str(each.get("tool") or each["endpoint"]).rpartition("/")[2]
            base = dict(each.get("arguments") or each.get("parameters") or {})
            yield target, {**base, **({} if "fields" in base or "handle" in base else {"fields": "all"})}
        else:
            yield from pointers(each, name, given)
