"""The six tiles of a group of calls, with the change from the span that the page compares with."""

from collections.abc import Sequence

from django.conf import settings

from telemetry import wording
from telemetry.call_figures import MIN_CALLS_FOR_PERCENTILES, CallFigures
from telemetry.pages.address import Address
from telemetry.pages.tiles import Better, Tile, changed, changed_share
from telemetry.pages.words import ORIGINS


def call_tiles(address: Address, now: CallFigures, before: CallFigures | None) -> tuple[Tile, ...]:
    against = address.before_in_words if before else ""
    old = before or now
    return (
        Tile(
            "Calls",
            wording.short(now.calls),
            wording.whole(now.calls),
            change=changed(now.calls, old.calls, against, Better.UNKNOWN),
            notes=(f"{wording.whole(now.errors)} failed",),
            link=address.to("calls"),
        ),
        Tile(
            "Answered",
            wording.share(answered(now)),
            notes=tuple(_failures(now)),
            change=changed_share(answered(now), answered(old), against, Better.MORE),
            link=address.to("calls", outcome="error"),
        ),
        Tile(
            "Time, p95",
            wording.milliseconds(now.latency.p95),
            notes=_percentiles(now),
            change=changed(now.latency.p95, old.latency.p95, against, Better.LESS),
            link=_sorted(address, "p95"),
        ),
        Tile(
            "Tokens sent",
            wording.short(now.tokens_sent),
            wording.whole(now.tokens_sent),
            notes=(f"{wording.whole(now.average_tokens)} a call",),
            change=changed(now.tokens_sent, old.tokens_sent, against, Better.UNKNOWN),
            link=_sorted(address, "sent"),
        ),
        Tile(
            "Saved, net",
            wording.short(now.tokens_saved),
            wording.whole(now.tokens_saved),
            notes=(f"{wording.share(now.reduction)} of {wording.short(now.tokens_baseline)}",) if now.reduction else (),
            change=changed_share(now.reduction, old.reduction, against, Better.MORE),
            link=_sorted(address, "saved"),
        ),
        Tile(
            "Oversized",
            wording.share(now.oversized_share),
            notes=(_oversized(now),),
            change=changed_share(now.oversized_share, old.oversized_share, against, Better.LESS),
            link=_sorted(address, "oversized"),
        ),
    )


def answered(figures: CallFigures) -> float | None:
    """The share of the calls that did not fail."""
    return None if figures.error_share is None else 1 - figures.error_share


def _failures(figures: CallFigures) -> Sequence[str]:
    """The two largest origins, each with its share: "upstream 1.7%"."""
    failed = sorted(((count, name) for name, count in figures.origins.items() if count), reverse=True)
    words = [f"{ORIGINS.get(name, 'unknown')} {wording.share(count / figures.calls)}" for count, name in failed]
    return words[:2] or ["none failed" if figures.calls else "no calls"]


def _percentiles(figures: CallFigures) -> tuple[str, ...]:
    if figures.latency.p95 is None:
        return (f"{wording.plural(figures.calls, 'call')}, too few ({MIN_CALLS_FOR_PERCENTILES} needed)",)
    return (f"p50 {wording.milliseconds(figures.latency.p50)}, p99 {wording.milliseconds(figures.latency.p99)}",)


def _oversized(figures: CallFigures) -> str:
    limit = wording.share(settings.OVERSIZED_ALERT_SHARE)
    if not figures.oversized_calls:
        return f"limit {limit}"
    return f"{wording.plural(figures.oversized_calls, 'call')}, made smaller; limit {limit}"


def _sorted(address: Address, key: str) -> str:
    return f"{address.link(sort=f'-{key}')}#table-groups"
