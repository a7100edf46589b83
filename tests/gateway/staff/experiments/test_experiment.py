"""An experiment takes protection from half of the callers, and says what differs, in words that claim no more."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from context_protection.configuration.policies import budgets
from gateway.access.models import ApiKey
from gateway.staff.experiments import states
from gateway.staff.experiments.measures import MeasureWord, is_split_off
from gateway.staff.experiments.models import Experiment
from gateway.staff.experiments.pages import measured
from telemetry.models import TelemetryRecord
from tests.doors import Doors

pytestmark = pytest.mark.django_db
PAGES = "/telemetry/experiments/"


@pytest.fixture
def commits(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.fixture
def engineer(client: Client) -> Client:
    user = User.objects.create_user("engineer-1", is_staff=True)
    user.groups.add(Group.objects.get(name="engineer"))
    client.force_login(user)
    return client


def running(commits: Any, keys: int, operations: str = "list_listings") -> Experiment:
    for number in range(keys):
        ApiKey.objects.create(name=f"key-{number}", prefix="slc_x", digest=f"{number:064}")
    made = Experiment.objects.create(
        name="on-off", question="Does it save tokens?", operations=operations, salt="on-off"
    )
    with commits():
        states.start(made.pk, "to know")
    made.refresh_from_db()
    return made


def arms(found: Experiment, keys: int) -> tuple[list[str], list[str]]:
    names = [f"key-{number}" for number in range(keys)]
    off = [name for name in names if budgets().arm_name("list_listings", name) == found.off_arm]
    return [name for name in names if name not in off], off


def record(callers: list[str], arm: str, *, tokens: int, calls: int = 4, tasks: int = 2, rows: int = 0) -> None:
    """Each caller makes `tasks` tasks of `calls` calls. With `rows`, these are pages of 10 of a list of `rows` rows."""
    now = timezone.now()
    TelemetryRecord.objects.bulk_create(
        TelemetryRecord(
            request_id=f"{caller}-{task}-{number}",
            created_at=now - timedelta(minutes=30 * task) + timedelta(seconds=number),
            caller=caller,
            arm=arm,
            operation="list_listings",
            outcome="plain",
            latency_ms=10,
            claude_tokens=tokens + 10 * (place % 5),
            baseline_tokens=tokens if number == 0 else 0,
            saved_tokens=0,
            chain=f"{caller}-{task}" if rows else "",
            page=number + 1,
            item_count=10,
            total_rows=rows,
        )
        for place, caller in enumerate(callers)
        for task in range(tasks)
        for number in range(calls)
    )


def test_the_arm_without_protection_gets_the_unpaged_list_and_other_tools_stay(doors: Doors, commits: Any):
    before, bookings = doors.rest("list_documents", {}), doors.rest("list_bookings", {})
    assert "meta" in before
    made = running(commits, 0, "list_documents")
    assert budgets().arm_name("list_documents", ApiKey.objects.get().name) == made.off_arm
    unpaged = doors.rest("list_documents", {})
    assert set(unpaged) == {"items"}
    assert len(unpaged["items"]) == len(before["items"])
    assert doors.rest("list_bookings", {})["items"] == bookings["items"]
    with commits():
        states.end(made.pk, "known")
    assert set(doors.rest("list_documents", {})) == set(before)


def test_tokens_per_task_are_lower_with_protection(commits: Any):
    made = running(commits, 60)
    on, off = arms(made, 60)
    assert (len(on), len(off)) == (30, 30)
    record(on, made.on_arm, tokens=1000)
    record(off, made.off_arm, tokens=5000, calls=2)
    found = {each.name: each for each in measured(made).results}
    main = found["tokens_per_task"]
    assert main.is_main
    assert (main.off, main.on) == (10_040, 4_080)
    assert main.word is MeasureWord.LOWER
    assert main.difference is not None
    assert -0.62 < main.difference.value < -0.58
    assert found["calls_per_task"].word is MeasureWord.HIGHER
    assert found["errors"].word is MeasureWord.UNCLEAR


@pytest.mark.parametrize(
    ("main", "said"),
    [
        ("tokens_per_task", "Tokens per task: lower with protection."),
        ("paging_finished", "Paging finished: higher with protection."),
    ],
)
def test_the_sentence_of_an_experiment_fits_every_main_measure(commits: Any, engineer: Client, main: str, said: str):
    made = running(commits, 60)
    on, off = arms(made, 60)
    Experiment.objects.update(main_measure=main)
    record(on, made.on_arm, tokens=1000, calls=2, rows=20)
    record(off, made.off_arm, tokens=5000, calls=2, rows=30)
    assert said in engineer.get(f"{PAGES}{made.name}/").content.decode()


def test_few_callers_are_too_early(commits: Any, engineer: Client):
    made = running(commits, 10)
    on, off = arms(made, 10)
    record(on, made.on_arm, tokens=1000)
    record(off, made.off_arm, tokens=5000)
    assert {each.word for each in measured(made).results} == {MeasureWord.TOO_EARLY}
    text = engineer.get(f"{PAGES}on-off/").content.decode()
    assert "Too early: 5 and 5 callers so far, both arms need 20." in text


def test_callers_that_have_not_paged_are_too_few_for_the_measure_of_paging(commits: Any, engineer: Client):
    """The sentence counts the callers that the main measure has, not those that called."""
    made = running(commits, 60)
    on, off = arms(made, 60)
    Experiment.objects.update(main_measure="paging_finished")
    record(on, made.on_arm, tokens=1000, calls=2, rows=20)
    record(off[3:], made.off_arm, tokens=5000, calls=2)
    record(off[:3], made.off_arm, tokens=5000, calls=2, rows=20)
    text = engineer.get(f"{PAGES}on-off/").content.decode()
    assert "Too early: 30 and 3 callers that read a second page so far, both arms need 20." in text


def test_halves_that_are_none_get_no_verdict(commits: Any, engineer: Client):
    made = running(commits, 80)
    on, off = arms(made, 80)
    record(on, made.on_arm, tokens=1000)
    record(off[:8], made.off_arm, tokens=5000)
    assert {each.word for each in measured(made).results} == {MeasureWord.NO_VERDICT}
    text = engineer.get(f"{PAGES}on-off/").content.decode()
    assert "The split is off" in text
    assert not is_split_off(21, 20)
    assert not is_split_off(0, 0)


def test_an_engineer_makes_starts_and_ends_one(engineer: Client, commits: Any):
    assert "No experiment yet" in engineer.get(PAGES).content.decode()
    sent = {
        "name": "on-off",
        "question": "Does protection save tokens without more calls?",
        "operations": "list_listings",
        "main_measure": "tokens_per_task",
        "planned_days": 14,
    }
    assert "Give a reason" in engineer.post(f"{PAGES}new/", sent).content.decode()
    with commits():
        engineer.post(f"{PAGES}new/", {**sent, "reason": "to know"})
        engineer.post(f"{PAGES}on-off/act/", {"do": "start"})
    assert Experiment.objects.get().state == "draft", "without a reason nothing starts"
    with commits():
        engineer.post(f"{PAGES}on-off/act/", {"do": "start", "reason": "go"})
    assert Experiment.objects.get().state == "running"
    refused = engineer.post(f"{PAGES}on-off/act/", {"do": "start", "reason": "again"}, follow=True)
    assert "on-off is running, not draft." in refused.content.decode()
    with commits():
        engineer.post(f"{PAGES}on-off/act/", {"do": "end", "reason": "known"})
    text = engineer.get(f"{PAGES}on-off/").content.decode()
    assert "Ended: known" in text
    assert "winner" not in text
    assert "significant" not in text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("name", "On-Off", "Write it with small letters, digits and hyphens: on-off."),
        ("operations", "nowhere_*", "No tool matches nowhere_*."),
    ],
)
def test_what_is_wrong_in_a_new_experiment_is_named(engineer: Client, field: str, value: str, said: str):
    sent = {"name": "on-off", "question": "?", "main_measure": "errors", "planned_days": 14, "reason": "to know"}
    answer = engineer.post(f"{PAGES}new/", {**sent, field: value})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not Experiment.objects.exists()


@pytest.mark.parametrize("wanted", ["", "stop", "START"])
def test_an_action_that_does_not_exist_does_not_end_an_experiment(engineer: Client, commits: Any, wanted: str):
    made = running(commits, 2)
    answer = engineer.post(f"{PAGES}on-off/act/", {"do": wanted, "reason": "x"}, follow=True)
    assert "is not an action. Expected: start or end." in answer.content.decode()
    made.refresh_from_db()
    assert made.state == "running"


def test_a_reason_is_stored_without_the_character_nul_which_postgres_rejects(engineer: Client, commits: Any):
    made = running(commits, 2)
    engineer.post(f"{PAGES}on-off/act/", {"do": "end", "reason": "it\0 is known"})
    assert made.history.first().history_change_reason == "it is known"


def test_a_viewer_only_reads(client: Client, commits: Any):
    running(commits, 2)
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.groups.add(Group.objects.get(name="viewer"))
    client.force_login(viewer)
    assert client.get(f"{PAGES}on-off/").status_code == 200
    assert client.post(f"{PAGES}on-off/act/", {"do": "end", "reason": "x"}).status_code == 403
    assert client.get(f"{PAGES}new/").status_code == 403


def test_the_report_as_json(engineer: Client, commits: Any):
    made = running(commits, 60)
    on, off = arms(made, 60)
    record(on, made.on_arm, tokens=1000)
    record(off, made.off_arm, tokens=5000)
    report = engineer.get("/api/v1/telemetry/experiments/on-off").json()
    assert report["callers"] == {"on": 30, "off": 30}
    first = report["measures"][0]
    assert (first["name"], first["word"]) == ("tokens_per_task", "lower")
    value, low, high = first["difference"]
    assert low < value < high < 0
    assert engineer.get("/api/v1/telemetry/experiments/none").status_code == 404
