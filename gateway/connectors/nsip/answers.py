"""Checks that a response of NSIP with status 200 is an answer: it has the requested data and the id of its subject.

Upstream also returns 200 for errors, and for requests that it does not understand.
"""

from collections.abc import Callable, Mapping
from typing import Any

DEEPEST = 60  # levels of nesting; a pedigree of twenty-five generations has fewer


def is_answer(method: str, body: Any, value: Any) -> bool:
    """`body`: upstream's JSON; `value`: the result that the client's `method` read from it."""
    return _CHECKS[method](body, value)


def _is_date(body: Any, value: Any) -> bool:
    return isinstance(value.get("date") if isinstance(value, dict) else value, str)


def _are_breed_groups(body: Any, value: Any) -> bool:
    return all(group.id and group.name for group in value)


def _are_statuses(body: Any, value: Any) -> bool:
    return isinstance(body, list)


def _are_ranges(body: Any, value: Any) -> bool:
    return isinstance(value, dict) and "success" not in value


def _is_animal(body: Any, value: Any) -> bool:
    return _is_name(value.lpn_id)


def _is_lineage(body: Any, value: Any) -> bool:
    """Some ancestors may be unknown."""
    ancestors = (each for generation in value.generations for each in generation)
    known = value.subject is not None and _is_name(value.subject.lpn_id)
    return known and all(each.lpn_id is None or isinstance(each.lpn_id, str) for each in ancestors)


def _are_rows(body: Any, value: Any) -> bool:
    rows = next((body[name] for name in ("records", "Results") if name in body), None)
    named = isinstance(rows, list) and all(_is_name(row.get("lpnId") or row.get("LpnId")) for row in rows)
    return named and isinstance(value.total_count, int)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


_CHECKS: Mapping[str, Callable[[Any, Any], bool]] = {
    "get_date_last_updated": _is_date,
    "get_available_breed_groups": _are_breed_groups,
    "get_statuses_by_breed_group": _are_statuses,
    "get_trait_ranges_by_breed": _are_ranges,
    "search_animals": _are_rows,
    "get_animal_details": _is_animal,
    "get_lineage": _is_lineage,
    "get_progeny": _are_rows,
}
