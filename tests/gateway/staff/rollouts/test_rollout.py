"""A rollout gives values to a few callers, goes on while nothing becomes worse, and rolls itself back if it does."""

import html
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from context_protection.configuration.policies import budgets, policy_for
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey
from gateway.staff.history import rollback
from gateway.staff.rollouts import evaluation, steps
from gateway.staff.rollouts.guardrails import Basis
from gateway.staff.rollouts.models import Rollout, RolloutState
from telemetry.alerts.evaluation import check_alerts
from telemetry.models import Event, TelemetryRecord
from telemetry.models.alerts import Alert
from tests.doors import Doors

pytestmark = pytest.mark.django_db
PAGES = "/admin/rollouts/"


@pytest.fixture
def commits(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def keys() -> list[str]:
    for number in range(60):
        ApiKey.objects.create(name=f"key-{number}", prefix="slc_x", digest=f"{number:064}")
    return [f"key-{number}" for number in range(60)]


@pytest.fixture
def running(keys: list[str], commits: Any) -> Rollout:
    made = Rollout.objects.create(
        name="smaller-pages",
        operations="list_bookings",
        values={"default_page_size": 20},
        steps=[50, 100],
        salt="smaller-pages",
    )
    with commits():
        steps.start(made.pk, "try it")
    made.refresh_from_db()
    return made


@pytest.fixture
def ops(client: Client) -> Client:
    user = User.objects.create_user("ops-2", is_staff=True)
    user.groups.add(Group.objects.get(name="ops"))
    client.force_login(user)
    return client


def arms(keys: list[str]) -> tuple[list[str], list[str]]:
    """The included callers, and the others."""
    named = {key: budgets().arm_name("list_bookings", key) for key in keys}
    treated = [key for key, arm in named.items() if arm.endswith("-on")]
    return treated, [key for key in keys if key not in treated]


def record(
    callers: list[str], arm: str, *, calls: int, failed: int = 0, at: datetime | None = None, slow: int = 0
) -> None:
    """`calls` calls of each caller, of which `failed` fail because of Sluice."""
    TelemetryRecord.objects.bulk_create(
        TelemetryRecord(
            request_id=f"{caller}-{number}",
            created_at=at or timezone.now(),
            caller=caller,
            arm=arm,
            operation="list_bookings",
            outcome="error" if number < failed else "paginated",
            origin="sluice" if number < failed else "",
            latency_ms=900 if number < slow else 10,
            saved_tokens=0,
        )
        for caller in callers
        for number in range(calls)
    )


def later(rollout: Rollout, minutes: int = 31) -> datetime:
    """Moves the beginning of the step into the past, and returns now."""
    now = timezone.now()
    Rollout.objects.filter(pk=rollout.pk).update(step_since=now - timedelta(minutes=minutes), checked_at=None)
    return now


def test_half_of_the_callers_have_the_values_and_keep_them(running: Rollout, keys: list[str], commits: Any):
    treated, others = arms(keys)
    assert len(treated) == 30
    assert {policy_for("list_bookings", key).default_page_size for key in treated} == {20}
    assert {policy_for("list_bookings", key).default_page_size for key in others} == {50}
    assert {policy_for("list_listings", key).default_page_size for key in treated} == {50}, "another tool"
    with commits():
        for number in range(60, 90):
            ApiKey.objects.create(name=f"key-{number}", prefix="slc_x", digest=f"{number:064}")
        steps.pause(running.pk, "look")
        steps.resume(running.pk, "go on")
    assert set(treated) <= set(arms(keys)[0])


def test_the_call_itself_obeys_and_says_its_arm(doors: Doors, commits: Any):
    made = Rollout.objects.create(name="one", operations="list_b*", values={"default_page_size": 7}, steps=[5, 100])
    assert len(doors.rest("list_bookings", {})["items"]) == 50
    with commits():
        steps.start(made.pk, "the first step of one caller is that caller")
    for ask in (doors.rest, doors.mcp, doors.post):
        assert len(ask("list_bookings", {})["items"]) == 7
    with commits():
        steps.abort(made.pk, "enough")
    assert len(doors.rest("list_bookings", {})["items"]) == 50


def test_it_waits_for_calls_then_for_time_then_goes_on_and_ends_in_a_budget(
    running: Rollout, keys: list[str], commits: Any
):
    treated, others = arms(keys)
    with commits():
        evaluation.check_rollouts()
    running.refresh_from_db()
    assert (running.step, running.verdict) == (0, "No call of an included caller yet.")
    record(treated, running.treated_arm, calls=10)
    record(others, running.control_arm, calls=5)
    assert "150" in evaluation.judged(running, timezone.now()).reason
    record(others, running.control_arm, calls=5)
    assert evaluation.judged(running, timezone.now()).reason == "The step has not lasted its minimum time yet."
    now = later(running)
    with commits():
        evaluation.check_rollouts(now)
    running.refresh_from_db()
    assert (running.state, running.step, running.share) == ("running", 1, 100)
    assert len(arms(keys)[0]) == 60
    with commits():
        steps.advance(running.pk, "good")
    running.refresh_from_db()
    assert running.state == "done"
    assert TokenBudget.objects.get().default_page_size == 20
    assert budgets().arm_name("list_bookings", "key-1") == ""


def test_a_new_step_is_looked_at_every_5_seconds_and_an_old_one_every_30(running: Rollout):
    def is_looked_at(seconds: int) -> bool:
        before = Rollout.objects.get().checked_at
        assert before is not None
        evaluation.check_rollouts(before + timedelta(seconds=seconds))
        return Rollout.objects.get().checked_at != before

    evaluation.check_rollouts()
    assert is_looked_at(5)
    evaluation.check_rollouts(later(running))
    assert not is_looked_at(25)
    assert is_looked_at(30)


def test_errors_of_included_callers_roll_it_back_and_open_an_alert(running: Rollout, keys: list[str], commits: Any):
    treated, others = arms(keys)
    record(treated, running.treated_arm, calls=10, failed=2)
    record(others, running.control_arm, calls=10)
    with commits():
        evaluation.check_rollouts()
    running.refresh_from_db()
    assert running.state == RolloutState.ROLLED_BACK
    assert running.verdict == "Errors rose from 0.0% to 20.0%."
    assert {policy_for("list_bookings", key).default_page_size for key in keys} == {50}
    check_alerts()
    alert = Alert.objects.get(rule__kind="rollout_rolled_back", state="alerting")
    assert "smaller-pages: Errors rose from 0.0% to 20.0%." in alert.message
    with commits():
        evaluation.check_rollouts()
    assert Rollout.objects.get().history.filter(state="rolled_back").count() == 1


def test_few_more_errors_roll_it_back_once_the_interval_shows_them(running: Rollout, keys: list[str], commits: Any):
    treated, others = arms(keys)
    record(treated, running.treated_arm, calls=50, failed=2)
    record(others, running.control_arm, calls=50)
    found = evaluation.judged(running, timezone.now())
    assert found.advice == "roll back"
    assert found.reason == "Errors: +4.0 points, over the limit of +1.0."


def test_slow_calls_are_those_above_the_controls_95th_percentile(running: Rollout, keys: list[str]):
    treated, others = arms(keys)
    record(treated, running.treated_arm, calls=20, slow=6)
    record(others, running.control_arm, calls=20)
    found = evaluation.judged(running, timezone.now())
    assert found.advice == "roll back"
    assert found.reason.startswith("Slow calls: +30.0 points")


def test_errors_that_callers_make_are_not_held_against_it(running: Rollout, keys: list[str]):
    treated, others = arms(keys)
    record(treated, running.treated_arm, calls=10, failed=5)
    record(others, running.control_arm, calls=10)
    TelemetryRecord.objects.filter(outcome="error").update(origin="caller")
    now = later(running)
    assert evaluation.judged(Rollout.objects.get(), now).advice == "advance"


def test_few_callers_are_compared_with_their_own_past(commits: Any):
    ApiKey.objects.create(name="only", prefix="slc_x", digest="0" * 64)
    made = Rollout.objects.create(name="few", operations="list_bookings", values={"chunk_size": 100})
    with commits():
        steps.start(made.pk, "try it")
    made.refresh_from_db()
    record(["only"], "", calls=1000, at=timezone.now() - timedelta(days=2))
    record(["only"], made.treated_arm, calls=1000, at=timezone.now())
    found = evaluation.judged(made, timezone.now())
    assert found.basis == Basis.PAST
    assert found.control_calls == 1000
    now = later(made)
    assert evaluation.judged(Rollout.objects.get(), now).advice == "advance"


@pytest.mark.parametrize(("others", "basis"), [(100, Basis.CALLS), (3, Basis.NOTHING)])
def test_few_callers_without_a_past_are_held_against_the_others_or_the_limit_itself(
    commits: Any, others: int, basis: Basis
):
    for name in ("one", "two"):
        ApiKey.objects.create(name=name, prefix="slc_x", digest=name)
    made = Rollout.objects.create(
        name="few", operations="list_bookings", values={"timeout_seconds": 1}, steps=[50, 100]
    )
    with commits():
        steps.start(made.pk, "try it")
    made.refresh_from_db()
    record(["one"], made.treated_arm, calls=60, failed=40)
    record(["two"], made.control_arm, calls=others)
    found = evaluation.judged(made, timezone.now())
    assert (found.basis, found.advice) == (basis, "roll back")
    assert "too narrow where callers differ" in found.about_intervals


def test_a_state_allows_what_makes_sense(running: Rollout):
    with pytest.raises(steps.StepRefused, match="smaller-pages is running; this needs one that is draft"):
        steps.start(running.pk, "again")
    with pytest.raises(steps.StepRefused, match="this needs one that is paused"):
        steps.resume(running.pk, "again")


def test_a_rollback_of_the_configuration_leaves_rollouts_alone(running: Rollout):
    boss = User.objects.create_superuser("boss")
    then = timezone.now()
    steps.pause(running.pk, "look")
    assert rollback.plan(then, boss).steps == ()


def test_ops_make_start_and_abort_one_with_reasons(ops: Client, keys: list[str], commits: Any):
    text = ops.get(PAGES).content.decode()
    assert "No rollout yet" in text
    sent = {
        "name": "tables",
        "operations": "list_bookings",
        "steps": "5, 25, 50, 100",
        "minimum_calls": 200,
        "minimum_minutes": 30,
        "list_format": "table",
        "reason": "tables are smaller",
    }
    with commits():
        made = ops.post(f"{PAGES}new/", sent)
    assert made.headers["Location"] == f"{PAGES}tables/"
    assert Rollout.objects.get().values == {"list_format": "table"}
    assert "Give a reason" in ops.post(f"{PAGES}tables/start/", {}, follow=True).content.decode()
    assert Rollout.objects.get().state == "draft"
    with commits():
        page = ops.post(f"{PAGES}tables/start/", {"reason": "go"}, follow=True).content.decode()
    assert "3 of 60 callers have it, always the same ones." in page
    assert "nobody" not in page
    with commits():
        ops.post(f"{PAGES}tables/abort/", {"reason": "clients are confused"})
    event = Event.objects.first()
    assert (event.subject, event.before, event.after, event.actor) == ("tables", "running", "aborted", "ops-2")
    assert "clients are confused" in ops.get(f"{PAGES}tables/").content.decode()


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("steps", "5, 50", "that end with 100"),
        ("steps", "5, x", "whole numbers with commas"),
        ("operations", "list_boking", "Did you mean list_bookings?"),
        ("operations", "list_bookings, nowhere_*", "No tool matches nowhere_*."),
        ("list_format", "", "Nothing would change"),
        ("default_page_size", "0", "must be from 1 to 1,000"),
        ("name", "new", "Choose another name"),
        ("name", "Wide_Tables", "Write it with small letters, digits and hyphens: wide-tables."),
        ("reason", "", "Give a reason"),
    ],
)
def test_a_bad_form_says_what_is_wrong(ops: Client, field: str, value: str, said: str):
    sent = {
        "name": "tables",
        "operations": "list_bookings",
        "steps": "5, 25, 50, 100",
        "minimum_calls": 200,
        "minimum_minutes": 30,
        "list_format": "table",
        "reason": "x",
    }
    answer = ops.post(f"{PAGES}new/", {**sent, field: value})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not Rollout.objects.exists()


@pytest.mark.parametrize(
    ("size", "said", "unsaid"),
    [("", "Nothing would change", "cannot be blank"), ("0", "must be from 1 to 1,000", "Nothing would change")],
)
def test_a_form_without_a_valid_value_has_one_error(ops: Client, size: str, said: str, unsaid: str):
    sent = {"name": "pages", "steps": "100", "minimum_calls": 200, "minimum_minutes": 30, "reason": "x"}
    page = ops.post(f"{PAGES}new/", {**sent, "default_page_size": size}).content.decode()
    assert said in page
    assert unsaid not in page
    assert "cannot be blank" not in page


def test_values_that_no_call_could_have_are_not_started(ops: Client, keys: list[str]):
    made = Rollout.objects.create(name="low-cap", operations="get_booking", values={"hard_cap": 1000}, steps=[50, 100])
    shown = ops.post(f"{PAGES}low-cap/start/", {"reason": "try it"}, follow=True).content.decode()
    assert "hardCap (1,000) is below tokenBudgetThreshold (2,000)" in shown
    made.refresh_from_db()
    assert made.state == RolloutState.DRAFT
    assert not TokenBudget.objects.exists()


def test_after_the_last_step_the_page_says_that_the_values_are_budgets(ops: Client, running: Rollout):
    pressed = f"{PAGES}smaller-pages/next/"
    assert "The next step has begun." in ops.post(pressed, {"reason": "on"}, follow=True).content.decode()
    last = ops.post(pressed, {"reason": "on"}, follow=True).content.decode()
    assert "Done. The values are budgets now, for all callers." in last
    assert "The next step has begun." not in last


def test_two_people_who_press_next_at_the_same_step_make_one_step(ops: Client, running: Rollout):
    Rollout.objects.update(steps=[5, 50, 100])
    shown = ops.get(f"{PAGES}smaller-pages/").content.decode()
    step = shown.partition('name="step" value="')[2].partition('"')[0]
    pressed = f"{PAGES}smaller-pages/next/"
    first = ops.post(pressed, {"reason": "on", "step": step}, follow=True).content.decode()
    assert "The next step has begun." in first
    second = ops.post(pressed, {"reason": "on", "step": step}, follow=True).content.decode()
    assert "smaller-pages is at step 2 by now, so it did not advance again." in second
    running.refresh_from_db()
    assert (running.step, running.state) == (1, RolloutState.RUNNING)


def test_the_first_step_of_few_callers_is_explained(ops: Client, commits: Any):
    for number in range(4):
        ApiKey.objects.create(name=f"key-{number}", prefix="slc_x", digest=str(number))
    made = Rollout.objects.create(name="few", operations="list_bookings", values={"chunk_size": 100})
    said = "5% of 4 callers is less than one; the first step includes 1 caller (25%)."
    assert said in ops.get(f"{PAGES}few/").content.decode()
    with commits():
        steps.start(made.pk, "try it")
    text = ops.get(f"{PAGES}few/").content.decode()
    assert said in text
    assert "1 of 4 callers has it" in text
    with commits():
        steps.advance(made.pk, "go on")
    assert "nobody" not in ops.get(f"{PAGES}few/").content.decode()


def test_the_effect_of_the_values_is_a_link_away(ops: Client):
    Rollout.objects.create(
        name="off", operations="list_bookings, nsip_*", values={"default_page_size": 7, "pagination": False}
    )
    text = ops.get(f"{PAGES}off/").content.decode()
    links = re.findall(r'href="(/admin/budgets/[^"]+\?[^"]+)"', text)
    assert [link.partition("?")[0] for link in links] == ["/admin/budgets/list_bookings/", "/admin/budgets/nsip_*/"]
    page = ops.get(html.unescape(links[0])).content.decode()
    assert 'name="default_page_size" value="7"' in page
    assert '<option value="false" selected>' in page
    assert not TokenBudget.objects.exists()


def test_the_page_says_when_the_next_check_is(ops: Client, running: Rollout, commits: Any):
    page, now = f"{PAGES}smaller-pages/", timezone.now()
    assert "every 5 seconds. The next step begins at" in ops.get(page).content.decode()
    Rollout.objects.update(step_since=now - timedelta(minutes=11), checked_at=now)
    due = timezone.localtime(now + timedelta(seconds=30))
    assert f"Next check at {due:%Y-%m-%d %H:%M:%S}, every 30 seconds." in ops.get(page).content.decode()
    Rollout.objects.update(checked_at=now - timedelta(minutes=5))
    assert "is beat running?" in ops.get(page).content.decode()
    with commits():
        steps.pause(running.pk, "look")
    assert "No check while it is paused." in ops.get(page).content.decode()


def test_a_viewer_reads_and_does_nothing(client: Client, running: Rollout):
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.groups.add(Group.objects.get(name="viewer"))
    client.force_login(viewer)
    text = client.get(f"{PAGES}smaller-pages/").content.decode()
    assert "30 of 60 callers have it" in text
    assert "Abort" not in text
    assert client.post(f"{PAGES}smaller-pages/abort/", {"reason": "x"}).status_code == 403
    assert client.get(f"{PAGES}new/").status_code == 403
    assert Rollout.objects.get().state == "running"
