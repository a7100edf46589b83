"""The range of each trait within a breed. Upstream writes it as a text for some breeds, and as numbers for others."""

import re
from collections.abc import Mapping
from typing import Any

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})\s*-\s*({_NUMBER})\s*", re.ASCII)
_PREFIX = "range"


def trait_ranges(answer: Mapping[str, Any]) -> dict[str, Any]:
    """{"BWT": {"min": -0.891, "max": 1.299}} from {"rangeBWT": "-0.891 - 1.299"}. Values that are not such texts are
    returned unchanged."""
    return {_trait(name): _parsed(value) for name, value in answer.items()}


def _trait(name: str) -> str:
    return name[len(_PREFIX) :].upper() if name.lower().startswith(_PREFIX) and len(name) > len(_PREFIX) else name


def _parsed(value: Any) -> Any:
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    return {"min": float(match[1]), "max": float(match[2])} if match else value
