"""`search_criteria`: the filters of a search. Keys have the client's or upstream's spelling."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import orjson

from context_protection.core.errors import InvalidArgument, nearest
from context_protection.core.names import meant
from gateway.catalog.normalization import boolean, day, number
from gateway.connectors.nsip.traits import TRAITS

GENDERS = ("Male", "Female", "Both")
_NAME = "search_criteria"
_INVALID: Any = object()


@dataclass(frozen=True, slots=True)
class Criterion:
    """`read` returns the value in upstream's form, or `_INVALID`. `listed_by`: the operation that lists the values."""

    expected: str
    example: Any
    read: Callable[[Any], Any]
    listed_by: str = ""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The criteria in upstream's form: {"bornAfter": "2020-01-31"}. Raises InvalidArgument with the key."""
    wanted = {_key(name, value): _read(name, value) for name, value in given.items() if value is not None}
    after, before = wanted.get("bornAfter"), wanted.get("bornBefore")
    if after and before and after > before:
        raise _invalid(
            "bornAfter", after, f"a date not after bornBefore ({before})", "Exchange bornAfter and bornBefore."
        )
    return wanted


def _key(name: str, value: Any) -> str:
    key = meant(name, CRITERIA)
    if key is None:
        close = nearest(name, CRITERIA)
        path = f"{_NAME}.{name[:80]}"
        suggestion = f"Rename {path} to {close}." if close else f"Leave {path} out."
        raise _invalid(name[:80], value, f"only: {', '.join(CRITERIA)}", suggestion)
    return key


def _read(name: str, value: Any) -> Any:
    criterion = CRITERIA[_key(name, value)]
    read = criterion.read(value)
    if read is _INVALID:
        example = orjson.dumps(criterion.example).decode()
        listed = f" {criterion.listed_by} lists them." if criterion.listed_by else ""
        raise _invalid(name, value, criterion.expected, f"Set {_NAME}.{name} to {example}.{listed}")
    return read


def _invalid(key: str, value: Any, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        f"{_NAME}.{key} must be {expected}."
        if key in CRITERIA or meant(key, CRITERIA)
        else f"{_NAME} has no key {key!r}.",
        reason=f"invalid_{_NAME}",
        parameter=f"{_NAME}.{key}",
        value=value,
        expected=expected,
        suggestion=suggestion,
    )


# -- The values of each criterion -------------------------------------------------------------------


def _id(value: Any) -> Any:
    value = number(value, whole=True)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31 else _INVALID


def _flag(value: Any) -> Any:
    flag = boolean(value)
    return flag if isinstance(flag, bool) else _INVALID


def _word(value: Any) -> Any:
    value = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) <= 64 else _INVALID


def _gender(value: Any) -> Any:
    return next((each for each in GENDERS if isinstance(value, str) and each.lower() == value.lower()), _INVALID)


def _date(value: Any) -> Any:
    try:
        return date.fromisoformat(day(value)).isoformat()
    except (AttributeError, TypeError, ValueError):
        return _INVALID


def _ranges(value: Any) -> Any:
    if not isinstance(value, dict) or not value:
        return _INVALID
    ranges = {str(name).upper(): _bounds(bounds) for name, bounds in value.items()}
    return ranges if set(ranges) <= set(TRAITS) and all(map(_is_range, ranges.values())) else _INVALID


def _bounds(bounds: Any) -> Any:
    return {name: number(bound) for name, bound in bounds.items()} if isinstance(bounds, dict) else bounds


def _is_range(bounds: Any) -> bool:
    if not isinstance(bounds, dict) or not bounds or not set(bounds) <= {"min", "max"}:
        return False
    numbers = [bound for bound in bounds.values() if isinstance(bound, (int, float)) and not isinstance(bound, bool)]
    return len(numbers) == len(bounds) and bounds.get("min", numbers[0]) <= bounds.get("max", numbers[-1])


_A_DATE = "a date as YYYY-MM-DD"
_AN_ID = "a whole number of at least 1"

CRITERIA: Mapping[str, Criterion] = {
    "breedGroupId": Criterion(_AN_ID, 64, _id, "nsip_list_breeds"),
    "breedId": Criterion(_AN_ID, 640, _id, "nsip_list_breeds"),
    "bornAfter": Criterion(_A_DATE, "2020-01-31", _date),
    "bornBefore": Criterion(_A_DATE, "2020-01-31", _date),
    "gender": Criterion(f"one of: {', '.join(GENDERS)}", "Both", _gender),
    "provenOnly": Criterion("true or false", True, _flag),
    "status": Criterion("one of nsip_get_statuses", "CURRENT", _word),
    "flockId": Criterion("a flock's code, as a text", "640149", _word),
    "traitRanges": Criterion(
        f"an object of traits ({', '.join(TRAITS)}), each with numbers min, max or both, min up to max",
        {"BWT": {"min": -1, "max": 1}},
        _ranges,
    ),
}
# The schema only describes criteria. Code validates them, as a schema error would not name the wrong key.
PROPERTIES: Mapping[str, Mapping[str, str]] = {
    **{name: {"description": criterion.expected} for name, criterion in CRITERIA.items()},
    "traitRanges": {"description": orjson.dumps(CRITERIA["traitRanges"].example).decode()},
}
