"""The list of alerts: those that fire, cannot be evaluated, or are about to fire, and those that have ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from telemetry import access, wording
from telemetry.alert_states import AlertState
from telemetry.alerts import evaluation, links
from telemetry.models.alerts import Alert, AlertRule
from telemetry.pages.address import Address
from telemetry.pages.alert_states import in_order, shape_of
from telemetry.pages.shell import page, show
from telemetry.states import State

MAY_CHANGE = "telemetry.change_alertrule"
ENDED = 50  # the most ended alerts that are listed
WORST_FIRST = (State.DOWN, State.DEGRADED, State.ERROR, State.NO_DATA)  # no data is not the same as OK

TABS: Mapping[str, tuple[str, Callable[[Alert, datetime], bool]]] = {
    "firing": ("Firing", lambda alert, now: alert.is_firing),
    "pending": ("Pending", lambda alert, now: alert.state == AlertState.PENDING),
    "error": ("Error", lambda alert, now: alert.state == AlertState.ERROR),
    "no_data": ("No data", lambda alert, now: alert.state == AlertState.NO_DATA),
    "silenced": ("Silenced", lambda alert, now: alert.is_silenced(now)),
}


@dataclass(frozen=True, slots=True)
class Tab:
    label: str
    link: str
    count: int | None
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert in a list. `calls`: the address of the list of its calls."""

    alert: Alert
    shape: State
    since: str
    age: str
    calls: str
    link: str
    is_silenced: bool

    @property
    def state(self) -> str:
        return str(self.alert.get_state_display())


@require_safe
@page(default_refresh=10, own=("state",))
def alert_list(request: HttpRequest, address: Address) -> HttpResponse:
    now = timezone.now()
    current = in_order(list(Alert.objects.current().select_related("rule")))
    chosen = address.get("state")
    shown = _ended(address) if chosen == "ended" else [each for each in current if _is_in(each, chosen, now)]
    return show(
        request,
        address,
        "telemetry/alerts/list.html",
        title="Alerts",
        state=_worst(current),
        sentence=_sentence(current, now),
        has_comparison=False,
        tabs=_tabs(address, current, chosen, now),
        lines=[line_of(each, now) for each in shown],
        empty=_empty(chosen, address),
        may_change=request.user.has_perm(MAY_CHANGE),
        needs=access.SEE_CALLS,
        stale=_stale(now),
        return_to=request.get_full_path(),
    )


def open_lines(now: datetime) -> list[AlertRow]:
    """The alerts that have fired and are not over, the worst first."""
    return [line_of(each, now) for each in in_order(list(Alert.objects.open().select_related("rule")))]


def line_of(alert: Alert, now: datetime) -> AlertRow:
    began = alert.ended_at or alert.since
    return AlertRow(
        alert=alert,
        shape=shape_of(alert),
        since=wording.clock(began, now),
        age=wording.age(now - began),
        calls=links.calls(alert, alert.checked_at),
        link=links.alert(alert),
        is_silenced=alert.is_silenced(now),
    )


def _ended(address: Address) -> Sequence[Alert]:
    """The alerts that have fired, and that ended within the page's range."""
    ended = Alert.objects.filter(ended_at__range=address.span).exclude(fired_at=None)
    return list(ended.select_related("rule").order_by("-ended_at")[:ENDED])


def _is_in(alert: Alert, tab: str, now: datetime) -> bool:
    return TABS[tab][1](alert, now) if tab in TABS else True


def _tabs(address: Address, current: Sequence[Alert], chosen: str, now: datetime) -> list[Tab]:
    def link(state: str) -> str:
        return address.link(state=state)

    open_tabs = [
        Tab(label, link(key), sum(is_in(each, now) for each in current), key == chosen)
        for key, (label, is_in) in TABS.items()
    ]
    return [
        Tab("All open", link(""), len(current), chosen not in {*TABS, "ended"}),
        *open_tabs,
        Tab("Ended", link("ended"), None, chosen == "ended"),
        Tab("Rules", address.to("alert-rules"), AlertRule.objects.count(), False),
    ]


def _worst(current: Sequence[Alert]) -> State:
    shapes = {shape_of(each) for each in current}
    return next((each for each in WORST_FIRST if each in shapes), State.OK)


def _sentence(current: Sequence[Alert], now: datetime) -> str:
    firing = [each for each in current if each.is_firing]
    if not firing:
        unknown = sum(each.state in (AlertState.NO_DATA, AlertState.ERROR) for each in current)
        return "No alert fires." + (f" {wording.plural(unknown, 'alert')} cannot be evaluated." if unknown else "")
    first = firing[0]
    more = f" {wording.plural(len(firing) - 1, 'more alert')} firing." if len(firing) > 1 else ""
    since = first.fired_at or first.since
    return f"{first.title}, firing since {wording.clock(since, now)} ({wording.age(now - since)}).{more}"


def _empty(chosen: str, address: Address) -> str:
    if chosen == "ended":
        return f"No alert has ended {address.during}."
    return f"No alert is in the state “{TABS[chosen][0]}”." if chosen in TABS else "No alert is open."


def _stale(now: datetime) -> str:
    """A warning if alerts are not being checked, else ""."""
    if not AlertRule.objects.filter(is_enabled=True).exists():
        return "No rule is switched on, so nothing is checked."
    last = evaluation.last_check()
    if last is None:
        return "Alerts have not been checked yet. Is the beat process running?"
    if now - last > evaluation.STALE_AFTER:
        return f"Alerts have not been checked since {wording.clock(last, now)}. Is the beat process running?"
    return ""
