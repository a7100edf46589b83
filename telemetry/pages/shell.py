"""What all pages at /telemetry/ share: who may see them, their address, header, menu and control bar.

To add a page, write a view, name it in urls.py, and extend telemetry/base.html:

    @require_safe
    @page(default_range="15m", default_refresh=10)
    def now(request: HttpRequest, address: Address) -> HttpResponse:
        lights = guarded("Lights", lambda: lights_of(*address.span))       # fails alone: telemetry/pages/panels.py
        return show(request, address, "telemetry/now.html", title="Now", state=State.OK, sentence="…", lights=lights)

    {% extends "telemetry/base.html" %}
    {% block content %}
    <section class="card" data-live id="lights"> … </section>              {# data-live and an id: swapped on refresh #}
    {% include "telemetry/_chart.html" with panel=chart %}                 {# telemetry/pages/charts.py #}
    {% include "telemetry/_table.html" with panel=table %}                 {# telemetry/pages/tables.py #}
    {% endblock %}

- `Span.of(*address.span)`, `address.before` and `address.selection` are arguments of queries.
- Links: `address.to("tool", "get_order", origin="upstream")` to another page, `address.link(sort="-calls")` here.
- A page appears in the menu if PLACES has its URL name; only users with the permission given there see it.
- Times are in the zone of the page: use telemetry.wording for them, and for all figures.
- `exports=("csv", "json")` adds Export to the menu ⋯; the view then answers `?export=csv` (telemetry/pages/export.py).
- Blocks of telemetry/base.html: heading (beside the title), controls (more controls), content, scripts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import wraps
from typing import Any
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from telemetry import access, page_memory, wording
from telemetry.models import SavedView
from telemetry.pages import panels, ranges, recorder_notes, saved_views
from telemetry.pages.address import COMPARISONS, DIMENSIONS, REFRESHES, Address, CallFilter, is_text
from telemetry.pages.panels import guarded
from telemetry.states import State

View = Callable[..., HttpResponseBase]
PageView = Callable[..., HttpResponseBase]  # takes the request and its Address
ROOT = "/telemetry/"  # the path of Now; the paths of the other pages begin with it


@dataclass(frozen=True, slots=True)
class NavigationItem:
    name: str  # the name of its URL
    title: str
    group: str
    is_ours: bool = True  # below /telemetry/, so the link passes on time and filters
    needs: str = access.SEE_CALLS  # the menu hides pages for which the user lacks this permission


PLACES = (
    NavigationItem("telemetry:now", "Now", "Watch"),
    NavigationItem("telemetry:overview", "Overview", "Watch"),
    NavigationItem("telemetry:tools", "Tools", "Watch"),
    NavigationItem("telemetry:callers", "Callers", "Watch"),
    NavigationItem("telemetry:upstreams", "Upstreams", "Watch"),
    NavigationItem("telemetry:calls", "Calls", "Watch"),
    NavigationItem("telemetry:live", "Live", "Watch"),
    NavigationItem("telemetry:alerts", "Alerts", "Watch"),
    NavigationItem("telemetry:accuracy", "Token accuracy", "Improve"),
    NavigationItem("experiments:experiments", "Experiments", "Improve", is_ours=False),
    NavigationItem("playground:playground", "Playground", "Improve", is_ours=False, needs="telemetry.replay_call"),
    NavigationItem(
        "budgets:budgets", "Budgets", "Configure", is_ours=False, needs="context_protection.view_tokenbudget"
    ),
    NavigationItem("tool_list:tools", "Tool list", "Configure", is_ours=False, needs="access.view_toolset"),
    NavigationItem("keys:keys", "Keys", "Configure", is_ours=False, needs="access.view_apikey"),
    NavigationItem("rollouts:rollouts", "Rollouts", "Configure", is_ours=False, needs="rollouts.view_rollout"),
    NavigationItem("history:history", "History", "Configure", is_ours=False, needs="telemetry.view_event"),
    NavigationItem("admin:index", "All settings", "Configure", is_ours=False, needs=""),
)


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of the menu."""

    title: str
    group: str
    link: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Chip:
    words: str
    remove: str  # the page without this filter


@dataclass(frozen=True, slots=True)
class Shell:
    """The data of telemetry/base.html around a page's content."""

    address: Address
    title: str
    state: State | None
    sentence: str
    notes: Sequence[str]
    exports: Sequence[str]
    has_comparison: bool
    menu: Sequence[Item]
    views: Sequence[SavedView]
    copy_link: str
    tab_title: str = ""

    @property
    def tab(self) -> str:
        """The title of the browser's tab: ■ acme down – Sluice"""
        sign = f"{self.state.character} " if self.state and self.state is not State.OK else ""
        return f"{sign}{self.tab_title or self.title} – Sluice"

    @property
    def ranges(self) -> list[Choice]:
        chosen = self.address.range
        presets = [Choice(key, label, key == chosen) for key, label in ranges.LABELS.items()]
        return presets if chosen else [Choice("", self.address.range_in_words, True), *presets]

    @property
    def zones(self) -> list[Choice]:
        names = dict.fromkeys((self.address.zone, *ranges.ZONES))
        return [Choice(name, name.replace("_", " "), name == self.address.zone) for name in names]

    @property
    def comparisons(self) -> list[Choice]:
        return [Choice(key, label, key == self.address.compare) for key, label in COMPARISONS.items()]

    @property
    def refreshes(self) -> list[Choice]:
        return [Choice(str(key), label, key == self.address.refresh) for key, label in REFRESHES.items()]

    @property
    def dimensions(self) -> list[tuple[str, str]]:
        return list(DIMENSIONS.items())

    @property
    def chips(self) -> list[Chip]:
        filters = [Chip(each.words, self.address.without(each)) for each in self.address.filters]
        thresholds = self.address.thresholds.items()
        return [*filters, *(Chip(_at_least(*each), self.address.link(**{each[0]: None})) for each in thresholds)]

    @property
    def form(self) -> list[tuple[str, str]]:
        """The hidden inputs of the control bar's form."""
        return [pair for pair in self.address.hidden if pair[0] not in ("range", "tz", "compare", "refresh", "cursor")]

    @property
    def form_for_choices(self) -> list[tuple[str, str]]:
        """The hidden inputs of the form for zone, comparison and refresh."""
        return [pair for pair in self.address.hidden if pair[0] not in ("tz", "compare", "refresh", "cursor")]

    @property
    def form_for_times(self) -> list[tuple[str, str]]:
        """The hidden inputs of the form for two times."""
        return [pair for pair in self.address.hidden if pair[0] not in ("range", "from", "to", "cursor")]

    @property
    def times(self) -> tuple[str, str]:
        """The ends of the span, in the format of datetime-local inputs."""
        since, until = (timezone.localtime(moment) for moment in self.address.span)
        return f"{since:%Y-%m-%dT%H:%M}", f"{until:%Y-%m-%dT%H:%M}"

    @property
    def export_links(self) -> list[tuple[str, str]]:
        return [(name.upper(), self.address.fixed.link(export=name)) for name in self.exports]

    @property
    def view(self) -> SavedView | None:
        """The saved view that is shown."""
        return next((each for each in self.views if str(each.pk) == self.address.get("view")), None)


def page(
    *,
    default_range: str = "24h",
    default_refresh: int = 0,
    needs: str = access.SEE_CALLS,
    subject: str = "",
    own: Sequence[str] = (),
    since_first: Callable[[], datetime | None] | None = None,
) -> Callable[[PageView], View]:
    """Turns a view into a page: checks access, activates the page's time zone, and passes the Address to the view.

    `subject`: the dimension of which the page is about one value, the view's `name`. `own`: the parameters
    that only this page has; its links and forms keep them. `since_first` reads when data starts; if there is little
    data, a page without `range` then starts with a shorter range.
    """

    def decorated(view: PageView) -> View:
        @wraps(view)
        def answered(request: HttpRequest, *args: Any, **options: Any) -> HttpResponseBase:
            if refused := access.refusal(request, needs):
                return refused
            if "\0" in request.path:  # no name contains NUL, and Postgres rejects it
                raise Http404
            address = Address.of(request, default_range=default_range, default_refresh=default_refresh, own=own)
            if subject:
                address = address.about(subject, options["name"])
            if added := _added_filter(request):
                return HttpResponseRedirect(address.with_filter(added))
            with timezone.override(ZoneInfo(address.zone)), page_memory.kept(), panels.limited():
                if since_first and address.range and "range" not in address.chosen:
                    # If this read fails, the page still opens and shows which of its panels failed.
                    address = _shortened(address, guarded("First call", since_first).content)
                return view(request, address, *args, **options)

        return answered

    return decorated


def show(
    request: HttpRequest,
    address: Address,
    template: str,
    *,
    title: str,
    tab: str = "",
    state: State | None = None,
    sentence: str = "",
    notes: Sequence[str] = (),
    exports: Sequence[str] = (),
    has_comparison: bool = True,
    has_recorder_notes: bool = True,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """Renders a page. `sentence`: the state, since when, how many calls and which origin. `notes`: warnings about the
    figures (late, dropped, a shorter range). `tab`: the title of the browser's tab, if it differs from `title`.
    `has_recorder_notes`: False if the page itself reports unrecorded calls."""
    shell = Shell(
        address=address,
        title=title,
        state=state,
        sentence=sentence,
        notes=(*address.problems, *notes, *(recorder_notes.notes() if has_recorder_notes else ())),
        exports=exports,
        has_comparison=has_comparison,
        menu=tuple(_menu(request, replace(address, subject=None))),
        views=saved_views.seen_by(request.user),
        copy_link=request.build_absolute_uri(address.fixed.link()),
        tab_title=tab,
    )
    response = render(request, template, {"shell": shell, "address": address, **context}, status=status)
    response["Cache-Control"] = "no-store"
    return response


def _at_least(name: str, value: int) -> str:
    return f"{wording.milliseconds(value)} or longer" if name == "min_ms" else f"{wording.whole(value)} tokens or more"


def _shortened(address: Address, first: datetime | None) -> Address:
    chosen = ranges.shorter(address.range, address.now - first if first else None)
    if chosen == address.range:
        return address
    assert first is not None
    said = f"The first call was at {wording.minute(first)}, so this shows the last {ranges.LABELS[chosen]}."
    return replace(address, range=chosen, problems=(*address.problems, said))


def _menu(request: HttpRequest, address: Address) -> list[Item]:
    items = []
    for place in PLACES:
        if place.needs and not request.user.has_perm(place.needs):
            continue
        try:
            path = reverse(place.name)
        except NoReverseMatch:
            continue  # a part that this installation does not have
        link = address.to(place.name.removeprefix("telemetry:")) if place.is_ours else path
        is_current = request.path == path or (place.is_ours and path != ROOT and request.path.startswith(path))
        items.append(Item(place.title, place.group, link, is_current))
    return items


def _added_filter(request: HttpRequest) -> CallFilter | None:
    """The filter that the form "+ Filter" sends: dimension, value and whether it is to be excluded."""
    dimension, value = request.GET.get("filter", ""), request.GET.get("value", "").strip()
    if dimension not in DIMENSIONS or not is_text(value):
        return None
    return CallFilter(dimension, f"!{value}" if request.GET.get("not") else value)
