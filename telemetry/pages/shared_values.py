"""The panel "What the failed calls share"."""

from dataclasses import dataclass

from telemetry import wording
from telemetry.pages import words
from telemetry.pages.address import DIMENSIONS, Address
from telemetry.queries.shares import LEAST_FAILED, Gap, Shares

BAR = 96  # the width of a bar for 100%


@dataclass(frozen=True, slots=True)
class SharedValue:
    """`link`: the failed calls with this value."""

    dimension: str
    value: str
    of_failed: str
    of_others: str
    link: str
    failed_width: str
    others_width: str


@dataclass(frozen=True, slots=True)
class SharedValues:
    """`empty`: why there are no rows. `note`: how many calls were compared, if not all."""

    rows: tuple[SharedValue, ...]
    failed: int
    empty: str = ""
    note: str = ""


def shared_values(address: Address, found: Shares, calls: int) -> SharedValues:
    """`calls`: all calls of the range."""
    rows = tuple(_row(address, gap) for gap in found.gaps)
    note = f"Based on the newest {wording.whole(found.calls)} of {wording.short(calls)} calls." if found.is_cut else ""
    return SharedValues(rows, found.failed, "" if rows else _why_empty(found), note)


def _row(address: Address, gap: Gap) -> SharedValue:
    chosen = {gap.dimension: gap.value, "outcome": "error"}
    return SharedValue(
        DIMENSIONS[gap.dimension].lower(),
        words.value(gap.dimension, gap.value),
        wording.share(gap.of_failed),
        wording.share(gap.of_others),
        address.to("calls", **chosen),
        f"{BAR * gap.of_failed:.1f}",
        f"{BAR * gap.of_others:.1f}",
    )


def _why_empty(found: Shares) -> str:
    if not found.failed:
        return "No call failed."
    if not found.others:
        return f"All {wording.plural(found.failed, 'call')} failed, so there is nothing to compare with."
    if not found.is_comparable:
        return f"{wording.plural(found.failed, 'failed call')}, too few to compare ({LEAST_FAILED} needed)."
    return "Nothing: no value is 10 points more frequent among failed calls than among the others."
