"""The most frequent values of each dimension, as links that filter by them."""

from collections.abc import Sequence
from dataclasses import dataclass

from telemetry import wording
from telemetry.pages.address import DIMENSIONS, Address, CallFilter
from telemetry.pages.words import value, written
from telemetry.queries import Facets


@dataclass(frozen=True, slots=True)
class FacetValue:
    """`link` filters by the value, or removes that filter if it is chosen. `bar_width`: 60 for the largest count."""

    words: str
    count: str
    link: str
    is_chosen: bool
    bar_width: str


@dataclass(frozen=True, slots=True)
class FacetList:
    title: str
    values: tuple[FacetValue, ...]


def facet_lists(address: Address, found: Facets) -> tuple[Sequence[FacetList], bool]:
    """The dimensions that have values, and whether only the newest calls were counted."""
    lists = (_list(address, dimension, found) for dimension in found.values)
    return [each for each in lists if each.values], found.is_sampled


def _list(address: Address, dimension: str, found: Facets) -> FacetList:
    counts = found.values[dimension]
    chosen = {each.value for each in address.filters if each.dimension == dimension}
    most = max((count for _, count in counts), default=0)
    values = tuple(_value(address, dimension, name, count, most, chosen) for name, count in counts)
    return FacetList(DIMENSIONS[dimension], values)


def _value(address: Address, dimension: str, name: object, count: int, most: int, chosen: set[str]) -> FacetValue:
    text = written(dimension, name)
    is_chosen = text in chosen
    link = address.without(CallFilter(dimension, text)) if is_chosen else address.filtered_by(**{dimension: text})
    return FacetValue(value(dimension, name), wording.short(count), link, is_chosen, f"{60 * count / most:.1f}")
