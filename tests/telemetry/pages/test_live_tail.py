"""What a live page is sent, and what it polls."""

from datetime import UTC, datetime

import pytest
from django.test import RequestFactory
from django.utils import timezone

from telemetry.models import TelemetryRecord
from telemetry.pages.address import Address
from telemetry.pages.live_tail import Tail
from tests.telemetry.examples import stored
from tests.telemetry.pages.seeds import a_failure, an_answer
from tests.telemetry.pages.test_pages_about_one import page, words

AT = datetime(2026, 11, 22, 14, 2, 37, tzinfo=UTC)
NOW = AT.timestamp()


def tail(query: str = "", *, began: float = NOW - 60) -> Tail:
    return Tail(Address.of(RequestFactory().get(f"/telemetry/live/?{query}")), began)


def test_a_frame_has_the_calls_that_the_filters_select_the_newest_first():
    looked = tail("outcome=error")
    looked.add([a_failure(AT, request_id="1"), an_answer(AT), a_failure(AT, request_id="2")], NOW)
    frame = looked.frame(NOW)
    assert [row["request_id"] for row in frame["rows"]] == ["2", "1"]
    assert frame["count"] == 2
    assert frame["rows"][0] | {"link": ""} == {
        "request_id": "2",
        "link": "",
        "at": "2026-11-22T14:02:37+00:00",
        "time": "14:02:37",
        "tool": "acme_get_order",
        "state": "down",
        "word": "Down",
        "result": "upstream_unavailable",
        "origin": "upstream",
        "took": "12\xa0ms",
        "tokens": "1,000 (error)",
        "key": "ci-bot",
        "client": "claude-code",
        "message": "acme does not accept connections.",
    }


def test_a_call_is_in_one_frame_only():
    looked = tail()
    looked.add([an_answer(AT)], NOW)
    assert looked.has_news
    looked.frame(NOW)
    assert not looked.has_news
    assert looked.frame(NOW)["rows"] == []


def test_a_frame_says_how_many_calls_a_second_there_are_and_how_far_it_is_behind():
    looked = tail()
    looked.add([an_answer(AT, latency_ms=500), a_failure(AT, latency_ms=500)], NOW + 1)
    frame = looked.frame(NOW + 1.1)
    assert (frame["rate"], frame["failed"]) == (0.4, 0.2)
    assert frame["behind"] == pytest.approx(1.1)  # since they ended
    assert looked.frame(NOW + 7)["rate"] == 0


def test_the_first_rates_are_of_the_time_since_the_page_listens():
    looked = tail(began=NOW)
    looked.add([an_answer(AT)] * 4, NOW + 0.1)
    assert looked.frame(NOW + 0.2)["rate"] == 4  # of a second at least
    assert looked.frame(NOW + 2)["rate"] == 2
    looked.add([an_answer(AT)] * 6, NOW + 3)
    assert looked.frame(NOW + 5)["rate"] == 2
    assert looked.frame(NOW + 7)["rate"] == 1.2  # of 5 s, once these have passed


def test_above_200_calls_a_second_one_in_n_is_sent_and_said():
    looked = tail()
    for second in range(5):
        looked.add([an_answer(AT, request_id=f"{second}-{n}") for n in range(800)], NOW + second)
    looked.frame(NOW + 4)
    looked.add([an_answer(AT) for _ in range(400)], NOW + 4.5)
    frame = looked.frame(NOW + 4.5)
    assert frame["oneIn"] == 5  # 4,400 in 5 s
    assert (frame["count"], len(frame["rows"])) == (400, 80)


def test_at_200_calls_a_second_nothing_is_left_out():
    looked = tail()
    for tenth in range(50):
        looked.add([an_answer(AT) for _ in range(20)], NOW + tenth / 10)
        frame = looked.frame(NOW + tenth / 10)
        assert (frame["oneIn"], len(frame["rows"])) == (1, 20)


# -- Polling ------------------------------------------------------------------------------------------


def poll(staff, after: object, query: str = ""):
    return staff.get(f"/telemetry/live/calls/?after={after}&{query}")


def test_a_page_polls_what_was_stored_after_it(staff):
    now = timezone.now()
    stored(an_answer(now, request_id="old"))
    last = TelemetryRecord.objects.get().pk
    stored(a_failure(now, request_id="1"), an_answer(now, request_id="2"))
    found = poll(staff, last).json()
    assert {row["request_id"] for row in found["rows"]} == {"1", "2"}
    assert found["count"] == 2
    assert poll(staff, found["last"]).json() == {"rows": [], "count": 0, "last": found["last"]}


def test_polling_obeys_the_filters_and_does_not_look_at_the_rest_again(staff):
    now = timezone.now()
    stored(a_failure(now, request_id="1"), an_answer(now, request_id="2"))
    found = poll(staff, 0, "outcome=error").json()
    assert [row["request_id"] for row in found["rows"]] == ["1"]
    assert found["last"] == TelemetryRecord.objects.order_by("-pk").first().pk


@pytest.mark.parametrize("after", ["", "-1", "x", "9" * 40, "²"])
def test_what_is_no_number_of_a_call_is_refused_with_what_is_expected(staff, after):
    response = poll(staff, after)
    assert response.status_code == 400
    assert "expected the number `last`" in response.json()["error"]


def test_polling_is_for_people_who_may_see_calls(client, db):
    assert client.get("/telemetry/live/calls/?after=0").status_code == 302


def test_the_page_begins_with_the_newest_calls_and_works_without_scripts(staff):
    stored(a_failure(timezone.now(), request_id="1"))
    text = page(staff, "live/", "")
    assert "upstream_unavailable upstream" in words(text)
    assert '<meta http-equiv="refresh" content="10">' in text
    assert 'href="/telemetry/live/?outcome=error"' in text
