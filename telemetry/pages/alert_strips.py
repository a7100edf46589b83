"""The states of alerts over time, for one episode or for all episodes of a rule."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from telemetry.alert_states import AlertState
from telemetry.models.alerts import Alert, AlertTransition
from telemetry.pages.alert_states import shape_of
from telemetry.pages.strips import Stretch, Strip, stretches, strip

WEEK = timedelta(days=7)
NAMED = 5


def strip_of_alert(alert: Alert, since: datetime, now: datetime) -> Strip:
    end = alert.ended_at or now
    changes = alert.transitions.filter(what=AlertTransition.What.STATE)
    normal = Stretch(since, alert.started_at, shape_of(alert, AlertState.NORMAL), "Normal")
    return strip([normal, *_stretches(alert, list(changes), end)], since, end)


def strips_of_rules(now: datetime) -> Mapping[int, Strip]:
    """Rule's primary key → its last seven days, for each rule that had an alert in them."""
    since = now - WEEK
    lasting = Alert.objects.exclude(ended_at__lt=since).select_related("rule").prefetch_related("transitions")
    by_rule: dict[int, list[Stretch]] = {}
    for alert in lasting:
        changes = [each for each in alert.transitions.all() if each.what == AlertTransition.What.STATE]
        by_rule.setdefault(alert.rule_id, []).extend(_stretches(alert, changes, alert.ended_at or now))
    return {rule: strip(found, since, now, named=NAMED) for rule, found in by_rule.items()}


def _stretches(alert: Alert, changes: Sequence[AlertTransition], end: datetime) -> Iterable[Stretch]:
    """The stretches of an episode, without the final change to Normal."""
    shown = [
        (each.at, shape_of(alert, each.after), str(each.get_after_display()))
        for each in changes
        if each.after != AlertState.NORMAL
    ]
    return stretches(shown, end)
