"""The function that masks arguments and errors. Without one, no value is stored."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value that was masked, wholly or in part: its path, its length and the rule that found it."""

    name: str
    characters: int
    rule: str


@dataclass(frozen=True, slots=True)
class Masked:
    value: Any  # JSON
    hidden: tuple[Hidden, ...] = field(default=())


Mask = Callable[[str, Mapping[str, Any]], Masked]  # (operation, the arguments or an error's JSON document)

_mask: Mask | None = None


def mask_with(function: Mask) -> None:
    global _mask
    _mask = function


def masked(operation: str, value: Mapping[str, Any]) -> Masked | None:
    """None if no function was registered."""
    return None if _mask is None else _mask(operation, value)
