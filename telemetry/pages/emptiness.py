"""The message that replaces a page's panels if there is no call to show."""

from dataclasses import dataclass

from django.urls import reverse

from telemetry import queries, wording
from telemetry.pages.address import Address
from telemetry.queries import Selection, Span


@dataclass(frozen=True, slots=True)
class Emptiness:
    sentence: str
    label: str
    link: str


def emptiness(address: Address, selection: Selection) -> Emptiness:
    """Why there are no calls of `selection` in the page's span, and what to do next."""
    if address.filter_count:
        return _filtered(address, selection)
    first = queries.first_call_at()
    if first is None:
        said = "No calls yet. Connect a client and make one: it appears here within 2 seconds."
        return Emptiness(said, "Connect a client", f"{reverse('home')}#connect")
    said = f"No calls {address.during}."
    last = queries.select(Span.of(first, address.now), selection).order_by("-created_at").first()
    if last is not None:
        said = f"{said} The last one was at {wording.moment(last.measurement.at)}."
    return Emptiness(said, "Show 90 days", address.link(range="90d"))


def _filtered(address: Address, selection: Selection) -> Emptiness:
    names = {each.dimension for each in address.filters}
    rest = Selection(tuple(each for each in selection.conditions if each.dimension not in names))
    count = queries.totals(Span.of(*address.span), rest, wanted=queries.COUNTS).calls
    filters = "this filter" if address.filter_count == 1 else f"these {address.filter_count} filters"
    without = "it" if address.filter_count == 1 else "them"
    said = f"No call matches {filters} {address.during}. Without {without} there are {wording.whole(count)}."
    return Emptiness(said, "Remove filters", address.without())
