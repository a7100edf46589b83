"""The filters that select the calls of a page: values by dimension, with the names of page addresses."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.db.models import Q

from telemetry.measurement import OUTSIDE_FIGURES, Measurement

# Name in addresses → column of TelemetryRecord. Rollups use the same names for their columns.
DIMENSIONS: Mapping[str, str] = {
    "tool": "operation",
    "key": "caller",
    "client": "client",
    "connector": "connector",
    "upstream": "upstream",
    "status": "upstream_status",
    "transport": "transport",
    "protocol": "protocol",
    "origin": "origin",
    "outcome": "outcome",
    "reason": "error_reason",
    "policy": "revision",
    "arm": "arm",
    "cache": "is_cached",
    "oversized": "oversized",
    "chain": "chain",
}
YES_OR_NO = ("cache", "oversized")  # dimensions with these two values
YES_OR_NO_COLUMNS = frozenset(DIMENSIONS[name] for name in YES_OR_NO)
ANSWERS = {"yes": True, "no": False}
STATUS = re.compile(r"[0-9]{1,3}")


class InvalidFilter(ValueError):
    """A value that the dimension cannot have."""

    def __init__(self, dimension: str, value: str, expected: str) -> None:
        super().__init__(f"{dimension} is {value!r}; expected {expected}.")
        self.dimension, self.value, self.expected = dimension, value, expected


@dataclass(frozen=True, slots=True)
class DimensionFilter:
    """One value of a dimension. `text` may contain `*` for any characters."""

    dimension: str
    text: str
    is_negated: bool = False

    @property
    def q(self) -> Q:
        column = DIMENSIONS[self.dimension]
        if self.dimension in YES_OR_NO:
            return Q(**{column: ANSWERS[self.text]})
        if self.dimension == "status":
            return Q(**{column: int(self.text)})
        if "*" in self.text:
            return Q(**{f"{column}__iregex": f"^{_pattern(self.text)}$"})
        return Q(**{column: self.text})

    def matches(self, call: Measurement) -> bool:
        """The same as `q` for a call in memory, without the negation."""
        value = getattr(call, DIMENSIONS[self.dimension])
        if self.dimension in YES_OR_NO:
            return bool(value) is ANSWERS[self.text]
        if self.dimension == "status":
            return bool(value == int(self.text))
        if "*" in self.text:
            return re.search(f"^{_pattern(self.text)}$", value, re.IGNORECASE) is not None
        return bool(value == self.text)


@dataclass(frozen=True, slots=True)
class Selection:
    """Filters of calls. A call matches if each filtered dimension has one of its wanted values and none of its negated
    ones. Without filters, all calls match."""

    conditions: tuple[DimensionFilter, ...] = ()
    min_ms: float | None = None  # only calls that took at least this long
    min_tokens: int | None = None  # only calls that sent at least so many tokens, by Claude's count

    @classmethod
    def of(
        cls,
        values: Mapping[str, Iterable[str]] | None = None,
        *,
        min_ms: float | None = None,
        min_tokens: int | None = None,
    ) -> "Selection":
        """The selection of texts by dimension; a leading `!` negates. Raises ValueError for an unknown dimension, and
        InvalidFilter for a value that it cannot have."""
        found = [_condition(dimension, text) for dimension, texts in (values or {}).items() for text in texts]
        return cls(tuple(found), min_ms, min_tokens)

    def and_also(self, **values: str) -> "Selection":
        """The selection with one more exact value per dimension."""
        more = tuple(DimensionFilter(dimension, text) for dimension, text in values.items())
        return Selection((*self.conditions, *more), self.min_ms, self.min_tokens)

    def only(self, dimension: str, texts: Iterable[str]) -> "Selection":
        """The selection with these values of the dimension (at least one) instead of its present ones."""
        wanted = (DimensionFilter(dimension, text) for text in texts)
        return replace(self, conditions=(*self.without(dimension).conditions, *wanted))

    def without(self, dimension: str) -> "Selection":
        """The selection without filters by the dimension."""
        kept = tuple(each for each in self.conditions if each.dimension != dimension)
        return Selection(kept, self.min_ms, self.min_tokens)

    @property
    def columns(self) -> frozenset[str]:
        """The columns that the conditions need."""
        return frozenset(DIMENSIONS[each.dimension] for each in self.conditions)

    @property
    def has_outside(self) -> bool:
        """Whether a filter names a transport outside the figures. A pattern with `*` does not select these calls."""
        named = {each.text for each in self.conditions if each.dimension == "transport" and not each.is_negated}
        return not named.isdisjoint(OUTSIDE_FIGURES)

    @property
    def needs_calls(self) -> bool:
        """Whether the conditions cannot be answered from rollups."""
        return self.has_outside or self.min_ms is not None or self.min_tokens is not None

    @property
    def of_calls(self) -> Q:
        """The condition for calls. Calls outside the figures are excluded unless a filter names their transport."""
        return self.of_rollups if self.has_outside else self.of_rollups & ~Q(transport__in=OUTSIDE_FIGURES)

    def matches(self, call: Measurement) -> bool:
        """The same as `of_calls` for a call in memory."""
        if call.transport in OUTSIDE_FIGURES and not self.has_outside:
            return False
        if self.min_ms is not None and call.latency_ms < self.min_ms:
            return False
        if self.min_tokens is not None and call.claude_tokens < self.min_tokens:
            return False
        if any(each.is_negated and each.matches(call) for each in self.conditions):
            return False
        wanted = [each for each in self.conditions if not each.is_negated]
        of_one = {each.dimension for each in wanted}
        return of_one == {each.dimension for each in wanted if each.matches(call)}

    @property
    def of_rollups(self) -> Q:
        wanted = Q()
        for dimension in dict.fromkeys(each.dimension for each in self.conditions):
            mine = [each for each in self.conditions if each.dimension == dimension]
            any_of = Q()
            for each in mine:
                if each.is_negated:
                    wanted &= ~each.q
                else:
                    any_of |= each.q
            wanted &= any_of
        if self.min_ms is not None:
            wanted &= Q(latency_ms__gte=self.min_ms)
        if self.min_tokens is not None:
            wanted &= Q(claude_tokens__gte=self.min_tokens)
        return wanted


def _pattern(text: str) -> str:
    return ".*".join(map(re.escape, text.split("*")))


def _condition(dimension: str, text: str) -> DimensionFilter:
    if dimension not in DIMENSIONS:
        raise ValueError(f"{dimension} is not a filter. Expected one of: {', '.join(DIMENSIONS)}.")
    is_negated, value = text.startswith("!"), text.removeprefix("!")
    if dimension in YES_OR_NO and value not in ANSWERS:
        raise InvalidFilter(dimension, text, "yes or no")
    if dimension == "status" and not STATUS.fullmatch(value):
        raise InvalidFilter(dimension, text, "an HTTP status such as 503, or 0 for no answer")
    return DimensionFilter(dimension, value, is_negated)
