"""`search_criteria`: the filters of a search. Keys are spelled as in the client, or as upstream has them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from context_protection.core.errors import InvalidArgument, nearest
from gateway.connectors.nsip.traits import TRAITS

GENDERS = ("Male", "Female", "Both")
_NAME = "search_criteria"
_INVALID: Any = object()
_BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Criterion:
    """`read` returns the value as upstream wants it, or `_INVALID`."""

    expected: str
    example: str
    read: Callable[[Any], Any]


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The criteria as upstream wants them: {"bornAfter": "2020-01-31"}. Raises InvalidArgument naming the key."""
    wanted = {_key(name, value): _read(name, value) for name, value in given.items() if value is not None}
    after, before = wanted.get("bornAfter"), wanted.get("bornBefore")
    if after and before and after > before:
        raise _invalid("bornAfter", after, f"a date up to bornBefore ({before})", "Exchange bornAfter and bornBefore.")
    return wanted


def _key(name: str, value: Any) -> str:
    key = _KEYS.get(name)
    if key is None:
        close = nearest(name, CRITERIA)
        suggestion = f"Did you mean {close}?" if close else f"Leave {name[:80]} out."
        raise _invalid(name[:80], value, f"only: {', '.join(CRITERIA)}", suggestion)
    return key


def _read(name: str, value: Any) -> Any:
    criterion = CRITERIA[_KEYS[name]]
    read = criterion.read(value)
    if read is _INVALID:
        raise _invalid(name, value, criterion.expected, f"Set it to {criterion.example}, or leave {name} out.")
    return read


def _invalid(key: str, value: Any, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        f"{_NAME}.{key} must be {expected}." if key in _KEYS else f"{_NAME} has no key {key!r}.",
        reason=f"invalid_{_NAME}",
        parameter=f"{_NAME}.{key}",
        value=value,
        expected=expected,
        suggestion=suggestion,
    )


# -- The values of each criterion -------------------------------------------------------------------


def _id(value: Any) -> Any:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else _INVALID


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else _INVALID


def _word(value: Any) -> Any:
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= 64 else _INVALID


def _gender(value: Any) -> Any:
    return next((each for each in GENDERS if isinstance(value, str) and each.lower() == value.lower()), _INVALID)


def _date(value: Any) -> Any:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        return _INVALID


def _ranges(value: Any) -> Any:
    if not isinstance(value, dict) or not value:
        return _INVALID
    ranges = {str(name).upper(): bounds for name, bounds in value.items()}
    return ranges if set(ranges) <= set(TRAITS) and all(map(_is_range, ranges.values())) else _INVALID


def _is_range(bounds: Any) -> bool:
    if not isinstance(bounds, dict) or not bounds or not set(bounds) <= {"min", "max"}:
        return False
    numbers = [bound for bound in bounds.values() if isinstance(bound, (int, float)) and not isinstance(bound, bool)]
    return len(numbers) == len(bounds) and bounds.get("min", numbers[0]) <= bounds.get("max", numbers[-1])


_A_DATE = "a date as YYYY-MM-DD"
_AN_ID = "a whole number of at least 1"

CRITERIA: Mapping[str, Criterion] = {
    "breedGroupId": Criterion(_AN_ID, "64 (nsip_list_breeds lists them)", _id),
    "breedId": Criterion(_AN_ID, "640 (nsip_list_breeds lists them)", _id),
    "bornAfter": Criterion(_A_DATE, "2020-01-31", _date),
    "bornBefore": Criterion(_A_DATE, "2020-01-31", _date),
    "gender": Criterion(f"one of: {', '.join(GENDERS)}", "Both", _gender),
    "provenOnly": Criterion("true or false", "true", _flag),
    "status": Criterion("one of nsip_get_statuses", "CURRENT", _word),
    "flockId": Criterion("a flock's code, as a text", '"640149"', _word),
    "traitRanges": Criterion(
        f"an object of traits ({', '.join(TRAITS)}), each with numbers min, max or both, min up to max",
        '{"BWT":{"min":-1,"max":1}}',
        _ranges,
    ),
}
# The client's spelling, such as born_after, is accepted too.
_KEYS = {spelling: key for key in CRITERIA for spelling in (key, _BOUNDARY.sub("_", key).lower())}

# Only described in the schema, and validated here: a schema error would name search_criteria, but not the wrong key.
PROPERTIES: Mapping[str, Mapping[str, str]] = {
    **{name: {"description": criterion.expected} for name, criterion in CRITERIA.items()},
    "traitRanges": {"description": CRITERIA["traitRanges"].example},
}
