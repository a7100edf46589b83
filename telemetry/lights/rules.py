"""Derives the lights from the readings, without I/O."""

from datetime import timedelta
from typing import NamedTuple

from telemetry import wording
from telemetry.lights.light import Component, Light, Lights, in_order
from telemetry.lights.processes import Recorder, Store
from telemetry.lights.readings import Readings
from telemetry.queries.recent import MINUTES
from telemetry.states import State
from telemetry.upstream_reports import UpstreamReport

SOME_MINUTES = 5
ENOUGH_CALLS = 20  # in SOME_MINUTES; the share of failures among fewer calls says little
OWN_DOWN, OWN_DEGRADED = 0.05, 0.01  # shares of calls that fail because of Sluice, in SOME_MINUTES
SLOW_FACTOR = 3  # relative to the mean of the same hour a week ago
UPSTREAM_DOWN, FEW_CALLS = 0.5, 5  # share of failed calls in one minute, and the fewest calls that count
UPSTREAM_DEGRADED = 0.05  # share of failed calls in SOME_MINUTES
SLOW_UPSTREAM_FACTOR = 2  # relative to the p95 of 7 days
SLOW_PING = 100  # a longer ping, in ms, is slow
LONGEST_LAG = 10  # seconds that recording may lag behind
UNCHECKED = timedelta(seconds=90)  # how long the alert rules may go unchecked
PROBE_HOLDS = timedelta(minutes=5)  # an older health check says nothing


def lights_of(readings: Readings) -> Lights:
    names = sorted({*readings.upstreams, *readings.processes.upstreams, *readings.recent.upstreams})
    lights = [sluice(readings), *(upstream(name, readings) for name in names), database(readings)]
    if readings.processes.redis:
        lights.append(redis(readings.processes.redis))
    lights += [recording(readings), alerting(readings)]
    has_probes = any(report.probe for report in readings.processes.upstreams.values())
    return Lights(in_order(lights), bool(readings.recent.calls(MINUTES)), has_probes, bool(readings.processes.count))


class Judgement(NamedTuple):
    """The result of a rule for a component. The fields are those of a Light."""

    state: State
    said: str = ""
    bad_share: float | None = None


def sluice(readings: Readings) -> Light:
    judgement = _sluice_judgement(readings)
    own_errors = readings.recent.calls(MINUTES, origin="sluice")
    mean = readings.recent.own_mean(SOME_MINUTES)
    facts: tuple[str, ...] = (f"own errors {wording.whole(own_errors)}", f"mean {wording.milliseconds(mean)}")
    if _is_database_down(readings):
        facts = ("database down", *facts)
    return Light(Component.SLUICE, "Sluice", judgement.state, facts, judgement.said, judgement.bad_share)


def _sluice_judgement(readings: Readings) -> Judgement:
    if _is_database_down(readings):
        return Judgement(State.DOWN, "Sluice cannot reach its database")
    calls = readings.recent.calls(SOME_MINUTES)
    if calls < ENOUGH_CALLS:
        return Judgement(State.OK)
    share = readings.recent.calls(SOME_MINUTES, origin="sluice") / calls
    if share > OWN_DOWN:
        return Judgement(State.DOWN, "Sluice itself fails", OWN_DOWN)
    if share > OWN_DEGRADED:
        return Judgement(State.DEGRADED, "Sluice itself fails now and then", OWN_DEGRADED)
    mean, usual = readings.recent.own_mean(SOME_MINUTES), readings.usual.own_mean
    if mean is not None and usual and mean > SLOW_FACTOR * usual:
        slow = f"Sluice is slow: {wording.milliseconds(mean)} a call, usually {wording.milliseconds(usual)}"
        return Judgement(State.DEGRADED, slow)
    return Judgement(State.OK)


def _is_database_down(readings: Readings) -> bool:
    store = readings.processes.database
    return store is not None and not store.is_ok


def upstream(name: str, readings: Readings) -> Light:
    judgement = _outage(name, readings) or _trouble(name, readings) or _no_trouble(name, readings)
    facts = _upstream_facts(name, readings)
    return Light(Component.UPSTREAM, name, judgement.state, facts, judgement.said, judgement.bad_share)


def _outage(name: str, readings: Readings) -> Judgement | None:
    report, recent = readings.processes.upstreams.get(name), readings.recent
    calls, failed = recent.calls(1, upstream=name), recent.calls(1, upstream=name, origin="upstream")
    if report and report.breaker == "open":
        return Judgement(State.DOWN, f"{name} is down", UPSTREAM_DOWN)
    if calls >= FEW_CALLS and failed >= UPSTREAM_DOWN * calls:
        return Judgement(State.DOWN, f"{name} is down", UPSTREAM_DOWN)
    if _probe_result(report, readings) is not False:
        return None
    if not recent.calls(MINUTES, upstream=name):
        return Judgement(State.DOWN, f"{name} fails its health check")
    if report and report.has_failed_last:
        # Calls that hang fail only at their timeout, so few may have failed so far.
        return Judgement(State.DOWN, f"{name} fails its calls and its health check", UPSTREAM_DOWN)
    return None


def _trouble(name: str, readings: Readings) -> Judgement | None:
    report, recent = readings.processes.upstreams.get(name), readings.recent
    if report and report.breaker == "half-open":
        return Judgement(State.RECOVERING, f"{name} is tried again after it was down", UPSTREAM_DOWN)
    calls = recent.calls(SOME_MINUTES, upstream=name)
    failed = recent.calls(SOME_MINUTES, upstream=name, origin="upstream")
    if calls >= ENOUGH_CALLS and failed > UPSTREAM_DEGRADED * calls:
        said = f"{name} fails in {wording.share(failed / calls)} of its calls"
        return Judgement(State.DEGRADED, said, UPSTREAM_DEGRADED)
    p95, usual = recent.p95.get(name), readings.usual.p95.get(name)
    if p95 and usual and p95 > SLOW_UPSTREAM_FACTOR * usual:
        slow = f"{name} is slow: p95 {wording.milliseconds(p95)}, usually {wording.milliseconds(usual)}"
        return Judgement(State.DEGRADED, slow)
    if _probe_result(report, readings) is False:
        return Judgement(State.DEGRADED, f"{name} answers calls but fails its health check")
    return None


def _no_trouble(name: str, readings: Readings) -> Judgement:
    probe_result = _probe_result(readings.processes.upstreams.get(name), readings)
    is_known = readings.recent.calls(MINUTES, upstream=name) or probe_result
    return Judgement(State.OK if is_known else State.NO_DATA)


def _upstream_facts(name: str, readings: Readings) -> tuple[str, ...]:
    report, recent = readings.processes.upstreams.get(name), readings.recent
    seen, p95 = recent.calls(MINUTES, upstream=name), recent.p95.get(name)
    facts = []
    if report and report.breaker != "closed":
        facts.append(f"breaker {report.breaker.replace('-', ' ')}")
    if seen:
        failed = recent.calls(MINUTES, upstream=name, origin="upstream")
        facts.append(f"failed {wording.whole(failed)} of {wording.whole(seen)}")
        facts += [f"p95 {wording.milliseconds(p95)}"] if p95 else []
        return tuple(facts)
    facts.append(f"no calls, {MINUTES}{wording.SPACE}min")
    if report and report.probe and _probe_result(report, readings) is not None:
        said = "OK" if report.probe.is_ok else "failed"
        facts.append(f"check {said} {wording.clock(report.probe.at, readings.now)}")
    elif report and report.last_success_at:
        facts.append(f"last OK {wording.clock(report.last_success_at, readings.now)}")
    return tuple(facts)


def _probe_result(report: UpstreamReport | None, readings: Readings) -> bool | None:
    """Whether the last health check succeeded. None if there was none within PROBE_HOLDS."""
    if report is None or report.probe is None or readings.now - report.probe.at > PROBE_HOLDS:
        return None
    return report.probe.is_ok


def database(readings: Readings) -> Light:
    store = readings.processes.database
    if store is None:
        return Light(Component.DATABASE, "Database", State.NO_DATA, ("no process reports",))
    if not store.is_ok:
        return Light(Component.DATABASE, "Database", State.DOWN, ("no answer",), "The database does not answer")
    facts = _store_facts(store)
    if store.ms > SLOW_PING:
        said = f"The database is slow: {wording.milliseconds(store.ms)} for a ping"
        return Light(Component.DATABASE, "Database", State.DEGRADED, facts, said)
    if not store.has_room:
        return Light(
            Component.DATABASE, "Database", State.DEGRADED, ("disk nearly full", *facts), "The disk is nearly full"
        )
    return Light(Component.DATABASE, "Database", State.OK, facts)


def redis(store: Store) -> Light:
    """The light of Redis. Calls go on without Redis, so the light never says "down"."""
    if not store.is_ok:
        said = "Redis does not answer; calls go on without it"
        return Light(Component.REDIS, "Redis", State.DEGRADED, ("no answer",), said)
    if store.ms > SLOW_PING:
        said = f"Redis is slow: {wording.milliseconds(store.ms)} for a ping"
        return Light(Component.REDIS, "Redis", State.DEGRADED, _store_facts(store), said)
    return Light(Component.REDIS, "Redis", State.OK, _store_facts(store))


def _store_facts(store: Store) -> tuple[str, ...]:
    pool = (f"pool {store.pool[0]} of {store.pool[1]}",) if store.pool else ()
    return (wording.milliseconds(store.ms), *pool)


def recording(readings: Readings) -> Light:
    recorder = readings.processes.recorder
    if recorder is None:
        return Light(Component.RECORDING, "Recording", State.NO_DATA, ("no process reports",))
    facts = (f"lag {recorder.lag_seconds:.1f}{wording.SPACE}s", f"{wording.whole(recorder.lost)} lost")
    said = _late(recorder, readings) or _lost(recorder, readings)
    return Light(Component.RECORDING, "Recording", State.DEGRADED if said else State.OK, facts, said)


def _late(recorder: Recorder, readings: Readings) -> str:
    if recorder.lag_seconds <= LONGEST_LAG:
        return ""
    behind = timedelta(seconds=recorder.lag_seconds)
    end = wording.moment(readings.now - behind)[-8:]
    return f"Figures end at {end}, {wording.length(behind)} ago. Calls are still answered; recording is behind"


def _lost(recorder: Recorder, readings: Readings) -> str:
    if not recorder.lost:
        return ""
    around = f" around {wording.clock(recorder.lost_at, readings.now)}" if recorder.lost_at else ""
    calls, were = wording.plural(recorder.lost, "call"), "was" if recorder.lost == 1 else "were"
    return f"{calls}{around} {were} answered but not recorded (queue full). Totals are too low by that number"


def alerting(readings: Readings) -> Light:
    checked_at, rules = readings.alerting.checked_at, readings.alerting.rules
    counted = wording.plural(rules, "rule")
    if not rules:
        return Light(Component.ALERTING, "Alerting", State.NO_DATA, ("no rule is on",))
    started_at = readings.processes.started_at
    if checked_at is None and started_at and readings.now - started_at <= UNCHECKED:
        return Light(Component.ALERTING, "Alerting", State.NO_DATA, ("not checked yet", counted))
    if checked_at is None:
        said = "Alerts have never been checked. Is the beat process running?"
        return Light(Component.ALERTING, "Alerting", State.DOWN, ("never checked", counted), said)
    behind = readings.now - checked_at
    facts = (f"checked {wording.age(behind)} ago", counted)
    if behind > UNCHECKED:
        since = wording.clock(checked_at, readings.now)
        said = f"Alerts have not been checked since {since}. Is the beat process running?"
        return Light(Component.ALERTING, "Alerting", State.DOWN, facts, said)
    return Light(Component.ALERTING, "Alerting", State.OK, facts)
