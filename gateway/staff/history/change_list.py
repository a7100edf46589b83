"""The page of all changes: who changed what, when, from what to what, and why."""

from dataclasses import dataclass
from datetime import UTC

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_safe

from context_protection.configuration.changes import ABSENT, value_in_words
from telemetry import wording
from telemetry.models import Event
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.ranges import read_moment
from telemetry.pages.shell import page, show

SEE = "telemetry.view_event"
CHANGES = (Event.EventKind.CHANGE, Event.EventKind.DEPLOYMENT)
SHOWN = 50
FILTERS = {"object": "subject", "who": "actor", "setting": "summary"}  # the column that each input searches


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """`differences`: the first few, as "hard cap: 9000 → 12000", or "hard cap: 9000" if it had no value. `more`: how
    many others there are."""

    at: str
    who: str
    kind: str
    name: str
    what: str
    differences: tuple[str, ...]
    more: int
    reason: str
    revision: str
    link: str


@dataclass(frozen=True, slots=True)
class ChangePage:
    rows: tuple[ChangeRow, ...]
    older: str  # the link to the next page; "" at the end
    all_in_range: int  # the number of changes without the filters; 0 if no filter is set


@page(needs=SEE, default_range="7d", own=tuple(FILTERS))
@require_safe
def history(request: HttpRequest, address: Address) -> HttpResponseBase:
    given = {name: address.get(name).strip() for name in FILTERS}
    panel = guarded("History", lambda: _page(address, given))
    return show(
        request,
        address,
        "history/history.html",
        title="History",
        sentence=_sentence(panel.content),
        has_comparison=False,
        has_recorder_notes=False,
        panel=panel,
        given=given,
        is_filtered=any(given.values()),
        form=[pair for pair in address.hidden if pair[0] not in (*FILTERS, "cursor")],
        unfiltered=address.link(**dict.fromkeys(FILTERS)),
        undo=_undo(request.GET.get("undo", "")),
    )


def _page(address: Address, given: dict[str, str]) -> ChangePage:
    since, until = address.span
    everything = Event.objects.filter(kind__in=CHANGES, at__gte=since, at__lt=until)
    found = everything.filter(*(Q(**{f"{FILTERS[name]}__icontains": text}) for name, text in given.items() if text))
    rows = list(_after(found, address.get("cursor"))[: SHOWN + 1])
    older = ""
    if len(rows) > SHOWN:
        last = rows[SHOWN - 1]
        older = address.link(cursor=f"{last.at.isoformat()}~{last.pk}")
    return ChangePage(tuple(map(row_of, rows[:SHOWN])), older, everything.count() if any(given.values()) else 0)


def _after(found: QuerySet[Event], place: str) -> QuerySet[Event]:
    """The events older than the last row of the previous page, which `place` names. All events if `place` cannot be
    read."""
    at, _, pk = place.partition("~")
    moment = read_moment(at, UTC)
    if moment is None or not pk.isdecimal():
        return found
    return found.filter(Q(at__lt=moment) | Q(at=moment, pk__lt=int(pk)))


def row_of(event: Event) -> ChangeRow:
    differences = [_in_words(*each) for each in event.differences]
    return ChangeRow(
        at=wording.moment(event.at),
        who=event.actor,
        kind="deployment" if event.kind == Event.EventKind.DEPLOYMENT else event.subject_type,
        name=event.subject,
        what=event.summary,
        differences=tuple(differences[:3]),
        more=max(0, len(differences) - 3),
        reason=event.reason,
        revision=event.revision[-6:],
        link=reverse("history:change", args=[event.pk]),
    )


def _in_words(name: str, old: str, new: str) -> str:
    values = value_in_words(new) if old == ABSENT else f"{old} → {value_in_words(new)}"
    return f"{name.replace('_', ' ')}: {values}"


def _undo(link: str) -> str:
    """The link that a rollback passes in the address. Links to any other page are ignored."""
    return link if link.startswith(f"{reverse('history:rollback')}?") else ""


def _sentence(found: ChangePage | None) -> str:
    if found is None or not found.rows:
        return ""
    newest = found.rows[0]
    # "list_bookings was deleted" alone would seem to be about the tool, not about its budget.
    kind = f"{newest.kind} " if newest.kind and newest.name and newest.what.startswith(newest.name) else ""
    return f"The last change: {kind}{sentence_of(newest.what, newest)}"


def sentence_of(summary: str, row: ChangeRow) -> str:
    """list_bookings: hard cap changed, 2026-11-22 13:58:40, by ops-2."""
    by = f", by {row.who}" if row.who else ""
    return f"{summary.rstrip('.')}, {row.at}{by}."
