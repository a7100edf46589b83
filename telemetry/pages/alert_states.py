"""The shapes of alerts by their state, and their order."""

from telemetry.alert_kinds import Severity
from telemetry.alert_states import AlertState
from telemetry.models.alerts import Alert
from telemetry.states import State

SHOWN = {
    AlertState.NORMAL: State.OK,
    AlertState.PENDING: State.PENDING,
    AlertState.RECOVERING: State.RECOVERING,
    AlertState.NO_DATA: State.NO_DATA,
    AlertState.ERROR: State.ERROR,
}
ORDER = (AlertState.ALERTING, AlertState.ERROR, AlertState.NO_DATA, AlertState.PENDING, AlertState.RECOVERING)


def shape_of(alert: Alert, state: str | None = None) -> State:
    """The shape of the alert's state, or of a former state."""
    shown = AlertState(state or alert.state)
    if shown is AlertState.ALERTING:
        return State.DOWN if alert.severity is Severity.DOWN else State.DEGRADED
    return SHOWN[shown]


def in_order(alerts: list[Alert]) -> list[Alert]:
    """Sorted by state, firing first; then by severity; then the newest first."""

    def rank(alert: Alert) -> tuple[int, bool, float]:
        return ORDER.index(AlertState(alert.state)), alert.severity is not Severity.DOWN, -alert.since.timestamp()

    return sorted(alerts, key=rank)
