"""Shadow mode changes no answer. It stores what each first answer would have been without protection, or that it could
not tell."""

import logging
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from context_protection.configuration.policies import budgets
from gateway.access.models import ApiKey
from gateway.dispatch import observers
from gateway.staff.experiments import shadow_sizes, states
from gateway.staff.experiments.models import Experiment, ShadowSize
from gateway.staff.experiments.pages import document
from gateway.staff.experiments.shadow_report import shadow_report
from gateway.staff.experiments.shadow_sizes import ShadowSizer
from gateway.staff.experiments.tasks import purge_old_shadow_sizes
from tests.doors import Doors

pytestmark = pytest.mark.django_db
PAGE = "/telemetry/experiments/both-sizes/"
Sized = Callable[[], list[ShadowSize]]


@pytest.fixture
def sized(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sized]:
    """Sizes what is queued, on this thread, whose transaction has the experiment. Returns all sizes, oldest first."""
    sizer = ShadowSizer(threaded=False, after=0.0, rest=0.0)
    monkeypatch.setattr(shadow_sizes, "_sizer", sizer)

    def found() -> list[ShadowSize]:
        assert sizer.flush()
        return list(ShadowSize.objects.order_by("pk"))

    yield found
    sizer.stop()


@pytest.fixture
def running(django_capture_on_commit_callbacks: Any) -> Callable[[str], Experiment]:
    def start(operations: str) -> Experiment:
        made = Experiment.objects.create(
            name="both-sizes", question="How much smaller?", operations=operations, is_shadow=True
        )
        with django_capture_on_commit_callbacks(execute=True):
            states.start(made.pk, "to know")
        made.refresh_from_db()
        return made

    return start


@pytest.fixture
def engineer(client: Client) -> Client:
    user = User.objects.create_user("engineer-1", is_staff=True)
    user.groups.add(Group.objects.get(name="engineer"))
    client.force_login(user)
    return client


def without_cursors(answer: dict[str, Any]) -> dict[str, Any]:
    """Each snapshot has a cursor and a handle of its own."""
    return {"items": answer["items"], "members": sorted(answer), "meta": sorted(answer["meta"])}


def test_no_answer_changes_and_both_sizes_are_stored(doors: Doors, running: Any, sized: Sized):
    before = doors.rest("list_bookings", {})
    running("list_bookings")
    assert budgets().arm_name("list_bookings", ApiKey.objects.get().name) == ""
    sent = doors.response("/api/v1/bookings")
    after = sent.json()
    assert without_cursors(after) == without_cursors(before)
    doors.rest("list_listings", {})
    (found,) = sized()
    assert found.operation == "list_bookings"
    assert found.on_formula == pytest.approx(len(sent.content.decode()) / 4 * 1.2, abs=2)
    assert (found.on_paged, found.off_paged) == (True, True), "the hard cap holds in both arms"
    assert found.off_claude > 1.5 * found.on_claude
    assert found.off_formula > 1.5 * found.on_formula
    doors.rest("list_bookings", {"cursor": after["nextCursor"]})
    assert len(sized()) == 1, "a later page would not exist"


def test_the_sizes_are_those_that_the_arm_of_a_split_experiment_gets(
    doors: Doors, running: Any, sized: Sized, django_capture_on_commit_callbacks: Any
):
    made = running("list_documents")
    doors.rest("list_documents", {})
    (found,) = sized()
    with django_capture_on_commit_callbacks(execute=True):
        states.end(made.pk, "known")
        split = Experiment.objects.create(name="split", question="?", operations="list_documents")
        states.start(split.pk, "the only key is in the arm without")
    sent = doors.response("/api/v1/documents")
    assert "meta" not in sent.json()
    assert found.off_formula == pytest.approx(len(sent.content.decode()) / 4 * 1.2, abs=2)


def test_a_busy_process_drops_and_counts(doors: Doors, running: Any, sized: Sized, monkeypatch: pytest.MonkeyPatch):
    made = running("list_*")
    monkeypatch.setattr(shadow_sizes, "MOST_WAITING", 1)
    for operation in ("list_bookings", "list_listings", "list_documents"):
        assert doors.rest(operation, {})["items"]
    assert [each.dropped for each in sized()] == [2]
    assert shadow_report(made).dropped == 2


def test_rows_that_only_the_upstream_has_are_not_read_for_it(doors: Doors, running: Any, sized: Sized):
    made = running("nsip_search_animals, list_bookings")
    doors.rest("nsip_search_animals", {"limit": 5})
    doors.rest("list_bookings", {})
    (found,) = sized()
    assert (found.operation, found.unknown) == ("list_bookings", 1)
    assert shadow_report(made).unknown == 1


def test_what_goes_wrong_there_breaks_no_call(
    doors: Doors, running: Any, sized: Sized, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def fails(*_: Any) -> None:
        raise RuntimeError("seeded")

    monkeypatch.setattr(observers, "_observers", [fails])
    running("list_bookings")
    with caplog.at_level(logging.ERROR):
        assert doors.rest("list_bookings", {})["items"]
    assert "an observer of answers has failed" in caplog.text


def store(made: Experiment, callers: int, calls: int) -> None:
    ShadowSize.objects.bulk_create(
        ShadowSize(
            experiment=made,
            at=timezone.now(),
            operation="list_bookings",
            caller=f"{caller}",
            on_claude=1_000 + 10 * caller,
            on_formula=700,
            on_summarized=False,
            on_paged=True,
            off_claude=10_000 + 90 * number + 10 * caller,
            off_formula=7_000,
            off_summarized=False,
            off_paged=False,
            off_refused=False,
        )
        for caller in range(callers)
        for number in range(calls)
    )


@pytest.mark.parametrize(("callers", "calls", "by"), [(25, 4, "caller"), (2, 30, "call")])
def test_differences_are_paired(running: Any, callers: int, calls: int, by: str):
    made = running("list_bookings")
    store(made, callers, calls)
    found = document(made)
    assert (found["mode"], found["calls"], found["intervalBy"]) == ("shadow", callers * calls, by)
    value, low, high = found["measures"][0]["difference"]
    assert -0.95 < low <= value <= high < -0.85
    assert found["on"] == {"summarized": 0, "paged": callers * calls, "refused": 0}


def test_the_page_says_what_it_cannot_know(running: Any, engineer: Client):
    made = running("list_bookings")
    assert "No call yet." in engineer.get(PAGE).content.decode()
    store(made, 2, 3)
    text = engineer.get(PAGE).content.decode()
    assert "The same 6 calls sized both ways: 90% fewer tokens with protection." in text
    assert "What shadow mode cannot know" in text
    assert "too early" in text
    store(made, 25, 2)
    text = engineer.get(PAGE).content.decode()
    assert "within each caller, and the intervals are valid however often you look" in text
    assert ">lower<" in text
    assert engineer.get("/api/v1/telemetry/experiments/both-sizes").json()["mode"] == "shadow"


def test_old_sizes_are_deleted(running: Any):
    made = running("list_bookings")
    store(made, 2, 1)
    ShadowSize.objects.filter(caller="0").update(at=timezone.now() - timedelta(days=31))
    purge_old_shadow_sizes()
    assert ShadowSize.objects.count() == 1
