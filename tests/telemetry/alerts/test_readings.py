"""What rules see in processes' reports, refused keys and audits."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from telemetry.alerts.conditions import Reading, condition_of
from telemetry.alerts.readings import drift
from telemetry.alerts.readings.upstreams import healths, why_down
from telemetry.alerts.words import condition_sentence
from telemetry.models import Event, ProcessReport, RejectedKey, TokenAudit
from telemetry.models.alerts import Alert, AlertRule
from tests.telemetry.alerts.examples import check, only, states, traffic
from tests.telemetry.examples import NOON

pytestmark = pytest.mark.django_db


def moment(seconds: float) -> str:
    return (NOON + timedelta(seconds=seconds)).isoformat()


def report(seconds: float, process: Any = None, started: float = -3600, **document: Any) -> ProcessReport:
    """What a process says of itself, so many seconds after noon."""
    return ProcessReport.objects.update_or_create(
        process=process or uuid4(),
        defaults={
            "kind": "web",
            "host": "h",
            "pid": 1,
            "version": "1",
            "started_at": NOON + timedelta(seconds=started),
            "seen_at": NOON + timedelta(seconds=seconds),
            "report": document,
        },
    )[0]


def acme(**changes: Any) -> dict[str, Any]:
    sound = {
        "name": "acme",
        "breaker": "closed",
        "lastSuccessAt": moment(0),
        "lastFailureAt": None,
        "lastFailure": "",
        "probe": None,
    }
    return {**sound, **changes}


# -- Upstreams ----------------------------------------------------------------------------------------


def test_an_open_breaker_is_an_alert_at_the_next_check():
    only("upstream_down")
    report(20, upstreams=[acme(breaker="open", lastFailureAt=moment(19), lastFailure="upstream_unreachable")])
    check(25)
    alert = Alert.objects.get()
    assert (alert.subject, alert.state, alert.severity) == ("acme", "alerting", "down")
    assert alert.message == "acme is down: its breaker is open; upstream_unreachable at 12:00:19 UTC."
    assert alert.details["calls"] == {"upstream": ["acme"], "origin": ["upstream"]}


def test_a_breaker_that_one_process_has_open_counts_until_any_process_gets_an_answer():
    opened = acme(breaker="half-open", lastFailureAt=moment(19), lastFailure="upstream_unreachable")
    answered = acme(lastSuccessAt=moment(30))
    (down,) = healths([{"upstreams": [opened]}, {"upstreams": [acme()]}])
    (up,) = healths([{"upstreams": [opened]}, {"upstreams": [answered]}])
    assert why_down(down, is_busy=False, now=NOON) == "its breaker is open"
    assert why_down(up, is_busy=False, now=NOON) == ""


def test_a_quiet_upstream_is_down_when_its_health_check_fails():
    only("upstream_down")
    report(20, upstreams=[acme(probe={"at": moment(18), "ok": False, "ms": 2, "status": 0, "message": "refused"})])
    check(25)
    assert Alert.objects.get().message == "acme is down: the health check failed: refused."
    report(50, upstreams=[acme(probe={"at": moment(48), "ok": True, "ms": 2, "status": 200, "message": ""})])
    ProcessReport.objects.filter(seen_at__lt=NOON + timedelta(seconds=30)).delete()
    for seconds in (55, 70):
        check(seconds)
    assert states("acme") == ["alerting", "recovering"]


def test_an_upstream_that_never_answered_is_not_dead_because_its_check_fails():
    only("upstream_down")
    never = acme(
        lastSuccessAt=None, probe={"at": moment(18), "ok": False, "ms": 2, "status": 0, "message": "no network"}
    )
    report(20, upstreams=[never])
    check(25)
    alert = Alert.objects.get()
    assert (alert.state, alert.message) == (
        "no_data",
        "acme was not called for 1 minute, and has never answered its health check.",
    )


def test_an_upstream_that_answered_a_check_once_is_dead_when_the_next_ones_fail():
    only("upstream_down")
    process = uuid4()
    for second, ok in ((20, True), (50, False)):
        probe = {"at": moment(second - 2), "ok": ok, "ms": 2, "status": 0, "message": "refused"}
        report(second, process, upstreams=[acme(lastSuccessAt=None, probe=probe)])
        check(second + 5)
    assert states("acme") == ["alerting"]


def test_an_upstream_that_is_called_every_ten_seconds_and_dies_fires_within_a_minute():
    """It refuses connections; its breaker opens late, because writes are tried once."""
    only("upstream_down")
    for second in range(-180, 0, 10):
        traffic(second, calls=1, upstream="acme")
    fired = None
    for second in range(1, 62):
        if second % 10 == 1:
            traffic(second, calls=1, failed=1, upstream="acme")
            failed_at = moment(second)
        report(
            second,
            process="11111111-1111-1111-1111-111111111111",
            upstreams=[acme(lastSuccessAt=moment(-10), lastFailureAt=failed_at, lastFailure="upstream_unreachable")],
        )
        if second % 30 == 0:
            check(second)
            if Alert.objects.filter(state="alerting").exists():
                fired = second
                break
    assert fired is not None
    assert fired <= 60


def test_a_busy_upstream_that_hangs_fires_before_its_calls_end():
    """It accepts connections and never answers: calls are recorded only when they give up."""
    only("upstream_down")
    for second in range(-180, 0, 10):
        traffic(second, calls=1, upstream="acme")
    hanging = acme(lastSuccessAt=moment(-1), lastFailureAt=moment(31), lastFailure="upstream_timeout")
    report(54, upstreams=[hanging])
    check(55)
    assert Alert.objects.get().message == (
        "acme is down: nothing was answered for 20 seconds or longer; upstream_timeout at 12:00:31 UTC."
    )


def test_one_failure_of_an_upstream_that_is_seldom_called_is_no_death():
    only("upstream_down")
    report(25, upstreams=[acme(lastSuccessAt=moment(-600), lastFailureAt=moment(20), lastFailure="upstream_timeout")])
    traffic(20, calls=1, failed=1, upstream="acme")
    check(25)
    assert not Alert.objects.filter(state__in=("pending", "alerting")).exists()


def test_an_upstream_without_calls_and_checks_has_no_data():
    only("upstream_down")
    report(20, upstreams=[acme(lastSuccessAt=moment(-600))])
    check(25)
    alert = Alert.objects.get()
    assert (alert.state, alert.message) == ("no_data", "acme was not called for 1 minute, and not checked.")


def test_a_rule_for_some_upstreams_leaves_the_others():
    only("upstream_down", upstreams="shop*, !shop-test")
    failed = {"breaker": "open", "lastFailureAt": moment(19), "lastFailure": "x"}
    report(20, upstreams=[acme(**failed, name=name) for name in ("acme", "shop", "shop-test")])
    check(25)
    assert [alert.subject for alert in Alert.objects.all()] == ["shop"]


# -- Lost records -------------------------------------------------------------------------------------


def test_records_that_are_lost_fire_once_and_recover_after_the_window():
    only("lost_records")
    process = uuid4()
    report(0, process, recorder={"dropped": 7})
    check(5)
    assert not Alert.objects.exists(), "what was lost before the first check is not news"
    report(30, process, recorder={"dropped": 220})
    check(35)
    report(60, process, recorder={"dropped": 220})
    check(65)
    alert = Alert.objects.get()
    assert (alert.state, alert.value) == ("alerting", 213)
    assert alert.message == (
        "213 calls around 12:00 UTC were answered but not recorded. Totals are too low by that number."
    )
    report(340, process, recorder={"dropped": 220})
    check(345)
    assert Alert.objects.get().state == "normal"


def test_what_a_new_process_lost_counts_and_a_restarted_counter_does_not_go_below_zero():
    rule = only("lost_records")
    check(0)
    assert Alert.objects.get().state == "no_data"
    report(25, started=10, recorder={"dropped": 3})
    check(30)
    rule.refresh_from_db()
    assert sum(count for _, count in rule.memory["lost"]) == 3


# -- Tool list, keys ----------------------------------------------------------------------------------


def test_a_tool_list_over_its_budget_is_an_alert_until_it_fits():
    only("tool_list_flipped")
    process = uuid4()
    sizes = {"budget": 8000, "tools": 24}
    report(0, process, toolList={**sizes, "tokens": 8024, "isSearch": True})
    check(5)
    assert (
        Alert.objects.get().message == "24 tools take 8,024 of 8,000 tokens: clients get search tools instead of them."
    )
    report(30, process, toolList={**sizes, "tokens": 7000, "isSearch": False})
    for seconds in (35,):
        check(seconds)
    assert Alert.objects.get().state == "normal"


def test_many_refused_keys_name_the_addresses():
    only("refused_keys")
    for address, attempts in (("198.51.100.7", 90), ("198.51.100.8", 11)):
        RejectedKey.objects.create(minute=NOON, address=address, transport="http", attempts=attempts, last_at=NOON)
    check(60)
    assert Alert.objects.get().message == (
        "101 calls in 5 minutes came with a key that is refused (limit 100): 198.51.100.7 90, 198.51.100.8 11."
    )


# -- Token counts -------------------------------------------------------------------------------------


def audited(count: int, *, claude: int) -> None:
    """Audits of texts that have 1,000 tokens."""
    counts = {"chars": 1, "formula_tokens": 900, "claude_tokens": claude, "actual_tokens": 1000}
    audits = (TokenAudit(at=NOON, operation="x", text_class="json", source="ctok", **counts) for _ in range(count))
    TokenAudit.objects.bulk_create(audits)


def drift_of(rule: AlertRule) -> Reading:
    (reading,) = drift.read(condition_of(rule), NOON)
    return reading


def test_token_counts_that_nobody_checked_are_not_said_to_be_right():
    rule = only("token_drift")
    nothing = "Fewer than 20 full counts per class: nothing to judge."
    assert (drift_of(rule).value, drift_of(rule).message) == (None, nothing)
    audited(19, claude=500)
    assert (drift_of(rule).value, drift_of(rule).message) == (None, nothing)
    audited(1, claude=500)
    assert drift_of(rule).value == 0.5
    assert "json -50.0%" in drift_of(rule).message


def test_a_rule_on_token_counts_can_need_more_than_the_newest_fifty():
    rule = only("token_drift", minimum=60)
    audited(59, claude=500)
    assert drift_of(rule).message == "Fewer than 60 full counts per class: nothing to judge."
    audited(1, claude=500)
    assert (drift_of(rule).value, drift_of(rule).sample) == (0.5, 60)


# -- Rollouts -----------------------------------------------------------------------------------------


def test_a_rollout_that_was_rolled_back_fires_for_the_window_of_the_rule():
    only("rollout_rolled_back", window_seconds=7200)
    change = {"kind": "C", "subject_type": "rollout", "subject": "smaller-pages", "after": "rolled_back"}
    Event.objects.create(at=NOON, summary="smaller-pages was rolled back", reason="more errors", **change)
    check(7100)
    assert (Alert.objects.get().state, Alert.objects.get().message) == ("alerting", "smaller-pages: more errors")
    check(7230)
    assert Alert.objects.get().state == "normal"
    assert Alert.objects.get().message == "No rollout was rolled back for 2 hours."


@pytest.mark.parametrize(
    ("limit", "words"),
    [(0.0025, "0.25%"), (0.0004, "0.04%"), (0.05, "5%"), (0.058, "5.8%"), (0.0, "0%"), (1e-8, "<0.0001%")],
)
def test_a_rule_says_its_limit_as_it_was_entered(limit: float, words: str):
    rule = only("error_rate", limit=limit, recovery_limit=0)
    assert condition_sentence(condition_of(rule)).startswith(f"more than {words} of calls fail")


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        ("list_*", "on tools list_*"),
        ("list_*, get_*", "on tools list_* or get_*"),
        ("list_*, !list_documents", "on tools list_* except list_documents"),
        ("!list_*, !get_*", "on all tools except list_* and get_*"),
    ],
)
def test_the_words_of_a_rule_name_the_tools_that_it_leaves_out(tools: str, words: str):
    rule = only("error_rate", tools=tools, limit=0.05, recovery_limit=0, origins="")
    assert f", {words}, of at least 20 calls" in condition_sentence(condition_of(rule))
