"""Estimated breeding values (traits) and their accuracies.

The names here are upstream's. The client knows 13 names, of which upstream uses only 5 today. Upstream returns
accuracies as 0–1 or as 0–100.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

TRAITS = ("BWT", "WWT", "PWWT", "YWT", "MWWT", "NLB", "NLW", "PEMD", "PFAT", "YEMD", "YFAT", "WFEC", "PFEC", "YFD",
          "YGFW", "YSL")  # fmt: skip
TOP = 3
SURE_ENOUGH = 50  # percent
_PREFIX = "acc"

Trait = dict[str, Any]


def traits_of(source: Mapping[str, Any]) -> dict[str, Trait]:
    """{"BWT": {"name": "BWT", "value": 0.246, "accuracy": 80, "units": None}} from a search row or an animal's details,
    in upstream's current form (`bwt`, `accbwt`) or its former one (`Traits`). Accuracies are in percent."""
    found = {**_flat(source), **_nested(source)}
    accuracies = [accuracy for _, accuracy in found.values() if accuracy is not None]
    scale = 100 if accuracies and max(accuracies) <= 1 else 1
    return {
        name: {"name": name, "value": value, "accuracy": _percent(accuracy, scale), "units": None}
        for name, (value, accuracy) in sorted(found.items(), key=lambda each: _position(each[0]))
    }


def top(traits: Iterable[Trait]) -> list[Trait]:
    """The TOP most accurate traits among those that are reliable enough. Ties keep their order."""
    sure = [trait for trait in traits if (trait["accuracy"] or 0) >= SURE_ENOUGH]
    best = sorted(sure, key=lambda trait: -trait["accuracy"])[:TOP]
    return [{"name": trait["name"], "value": trait["value"], "accuracy": trait["accuracy"]} for trait in best]


def _flat(source: Mapping[str, Any]) -> dict[str, tuple[float, float | None]]:
    """Fields with the name of a trait, or with an accompanying accuracy field, which also finds unknown traits."""
    values = {name.lower(): value for name, value in source.items()}
    names = [name for name in values if name.upper() in TRAITS or f"{_PREFIX}{name}" in values]
    return {
        name.upper(): (value, _number(values.get(f"{_PREFIX}{name}")))
        for name in names
        if (value := _number(values[name])) is not None
    }


def _nested(source: Mapping[str, Any]) -> dict[str, tuple[float, float | None]]:
    """{"Traits": {"BWT": {"Value": 0.246, "Accuracy": 74}}}"""
    traits = source.get("Traits")
    return {
        name: (value, _number(trait.get("Accuracy")))
        for name, trait in (traits.items() if isinstance(traits, dict) else ())
        if isinstance(trait, dict) and (value := _number(trait.get("Value"))) is not None
    }


def _number(value: Any) -> float | None:
    """The finite number in a value, or None. Upstream returns some numbers as strings."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _percent(accuracy: float | None, scale: int) -> float | None:
    """The accuracy in percent, not rounded to an integer, as 49.6 must not become 50."""
    if accuracy is None:
        return None
    percent = round(accuracy * scale, 2)
    return int(percent) if percent == int(percent) else percent


def _position(name: str) -> int:
    return TRAITS.index(name) if name in TRAITS else len(TRAITS)
