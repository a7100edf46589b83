"""The frozen settings of one call (law 6), and how they are resolved from layers.

defaults < file < environment < admin (global) < admin (one operation): a value set in a layer overrides all layers
below it, including the built-in default of a kind of operation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """The kind of an operation, by its answer."""

    LIST = "list"
    RECORD = "record"
    TEXT = "text"
    ACTION = "action"


class Ruler(StrEnum):
    """The token count that thresholds use. The hard cap always uses Claude's."""

    FORMULA = "formula"
    CLAUDE = "claude"


RULERS = tuple(ruler.value for ruler in Ruler)


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings of one call. Sizes are tokens unless a comment says otherwise."""

    default_page_size: int = 50  # rows
    max_page_size: int = 200  # rows
    token_budget_threshold: int = 4000
    hard_cap: int = 12000
    chunk_size: int = 200  # lines of a log
    chunk_tokens: int = 2000
    ruler: Ruler = Ruler.FORMULA
    pagination: bool = True
    summarization: bool = True
    chunking: bool = True
    meta_on_small_lists: bool = False
    tables_when_smaller: bool = False
    timeout_seconds: int = 60  # for the whole call
    cache_seconds: int = 60  # that an upstream's answer is reused from the cache; 0: never
    summary_fields: str = ""  # names and paths, comma-separated; empty: those of the record's shape


DEFAULTS = Policy()
# A record of more than 2,000 tokens becomes a preview (US2-1), a list of more than 4,000 tokens too (FR-010).
TYPE_DEFAULTS: Mapping[Kind, Mapping[str, Any]] = {Kind.RECORD: {"token_budget_threshold": 2000}}

# The names in settings files and on screens (ruling 22).
CANONICAL_NAMES: Mapping[str, str] = {
    "default_page_size": "defaultPageSize",
    "max_page_size": "maxPageSize",
    "token_budget_threshold": "tokenBudgetThreshold",
    "hard_cap": "hardCap",
    "chunk_size": "chunkSize",
    "chunk_tokens": "chunkTokens",
    "ruler": "ruler",
    "pagination": "pagination",
    "summarization": "summarization",
    "chunking": "chunking",
    "meta_on_small_lists": "metaOnSmallLists",
    "tables_when_smaller": "tablesWhenSmaller",
    "timeout_seconds": "timeoutSeconds",
    "cache_seconds": "cacheSeconds",
    "summary_fields": "summaryFields",
}

# The minimum leaves room for an envelope's own text. The maximum is set by Claude's clients, which put results of more
# than 50,000 characters aside.
RANGES: Mapping[str, tuple[int, int]] = {
    "default_page_size": (1, 1000),
    "max_page_size": (1, 1000),
    "token_budget_threshold": (100, 25000),
    "hard_cap": (1000, 25000),
    "chunk_size": (1, 10000),
    "chunk_tokens": (100, 20000),
    "timeout_seconds": (1, 600),
    "cache_seconds": (0, 86_400),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """An invalid setting: its name, and a sentence that says why."""

    name: str
    sentence: str


def resolve(kind: Kind, layers: Iterable[Mapping[str, Any]]) -> Policy:
    """The policy of an operation of `kind`. `layers` go from the weakest to the strongest; None means not set."""
    values = dict(TYPE_DEFAULTS.get(kind, {}))
    for layer in layers:
        values.update((name, value) for name, value in layer.items() if value is not None)
    if values.get("ruler") in RULERS:
        values["ruler"] = Ruler(values["ruler"])
    return replace(DEFAULTS, **values)


def problems(policy: Policy) -> list[Problem]:
    """All invalid settings of a resolved policy; an empty list if there are none."""
    found = [problem for name in RANGES if (problem := out_of_range(name, getattr(policy, name)))]
    if policy.ruler not in RULERS:
        found.append(Problem("ruler", f"ruler is {policy.ruler!r}; it must be one of: {', '.join(RULERS)}."))
    if policy.hard_cap < policy.token_budget_threshold:
        found.append(
            Problem(
                "hard_cap",
                f"hardCap ({policy.hard_cap:,}) is below tokenBudgetThreshold "
                f"({policy.token_budget_threshold:,}): answers under the threshold would already break the cap. "
                "Raise hardCap or lower tokenBudgetThreshold.",
            )
        )
    if policy.default_page_size > policy.max_page_size:
        found.append(
            Problem(
                "default_page_size",
                f"defaultPageSize ({policy.default_page_size:,}) is above maxPageSize ({policy.max_page_size:,}). "
                "Lower defaultPageSize or raise maxPageSize.",
            )
        )
    return found


def out_of_range(name: str, value: int) -> Problem | None:
    low, high = RANGES[name]
    if low <= value <= high:
        return None
    return Problem(name, f"{CANONICAL_NAMES[name]} is {value}; it must be from {low:,} to {high:,}.")


def setting_names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(Policy))
