"""What a tool's page says of its budget."""

from datetime import timedelta

from django.utils import timezone

from telemetry.pages.recommendation import AnswerSize, Recommendation, recommend, recommend_fields
from telemetry.queries.drill_downs import DrillDowns
from tests.telemetry.examples import a_call, stored
from tests.telemetry.pages.test_pages_about_one import page, section, words

BUDGET, HARD_CAP = 4000, 12_000


def answers(*groups: tuple[int, int]) -> list[AnswerSize]:
    """`groups`: how many, and of how many tokens. Those over budget were sent as 1,000."""
    return [AnswerSize(size, size if size <= BUDGET else 1000) for count, size in groups for _ in range(count)]


def test_too_few_answers_are_no_ground_for_one():
    found = recommend(answers((199, 6000)), BUDGET, HARD_CAP)
    assert found.sentence == "199 answers in 30 days, too few (200 needed)."
    assert found.budget is None


def test_a_budget_that_shortens_few_answers_fits():
    found = recommend(answers((195, 900), (10, 6000)), BUDGET, HARD_CAP)
    assert found.sentence == "The budget of 4,000 tokens fits: 10 of 205 answers were over budget (4.9%)."


def test_a_budget_that_most_answers_need_is_named_with_what_it_costs():
    found = recommend(answers((150, 1000), (45, 5200), (5, 9000)), BUDGET, HARD_CAP)
    assert found.budget == 5500
    assert found.sentence == (
        "A budget of 5,500 tokens instead of 4,000: 50 of 200 answers were over budget (25.0%), and 5 would be. "
        "Tokens sent: +94%."  # 45 answers of 5,200 instead of 1,000 tokens, of 200,000
    )


def test_answers_over_the_hard_cap_are_no_question_of_the_budget():
    found = recommend(answers((100, 900), (100, 60_000)), BUDGET, HARD_CAP)
    assert found.budget is None
    assert "no budget below the hard cap of 12,000 would change that for most" in found.sentence


def test_the_page_of_a_tool_counts_its_own_answers_only(staff):
    at = timezone.now() - timedelta(minutes=1)
    small = {"operation": "get_booking", "original_tokens": 900}
    pages = {"operation": "get_booking", "original_tokens": 90_000, "oversized": False}
    stored(
        *[a_call(at=at, **pages)] * 50,
        *[a_call(at=at, **small)] * 150,
        *[a_call(at=at, operation="get_booking", original_tokens=5200)] * 60,
        *[a_call(at=at, operation="get_booking", is_cached=True)] * 40,
        *[a_call(at=at, operation="get_booking", outcome="error")] * 40,
        *[a_call(at=at, operation="list_bookings")] * 40,
    )
    said = words(section(page(staff, "tools/get_booking/"), "recommendation"))
    assert "60 of 260 answers were over budget (23.1%), and 0 would be." in said


# -- Fields of short answers ------------------------------------------------------------------------


def test_fields_that_callers_often_ask_for_belong_into_short_answers():
    used = DrillDowns(short=100, followed=60, known=40, everything=4, fields={"notes": 20, "guest": 12, "door": 2})
    fields, reading = recommend_fields(used, ("id", "guest"))
    assert fields == ("id", "guest", "notes")
    assert reading == (
        "After 60 of 100 short answers (60.0%) the same key asked for more within 5 minutes. 10.0% asked for all "
        "fields. They often asked for notes (50.0%). Nobody asked by name for id."
    )


def test_few_data_are_said_to_be_few():
    assert recommend_fields(DrillDowns(short=0, followed=0), ()) == ((), "")
    few, reading = recommend_fields(DrillDowns(short=19, followed=3), ())
    assert few == ()
    assert reading == "19 short answers in 30 days, too few to say which fields they need (20 needed)."
    unknown, reading = recommend_fields(DrillDowns(short=50, followed=30, known=3, fields={"notes": 3}), ())
    assert unknown == ()
    assert "The fields of 3 of these calls are known, too few (20 needed)" in reading


def test_what_is_asked_for_seldom_stays_outside():
    used = DrillDowns(short=100, followed=60, known=40, fields={"notes": 11})
    assert recommend_fields(used, ("id",))[0] == ()


def test_a_recommendation_fills_in_the_page_of_the_budget():
    found = Recommendation("", "", "", budget=5500, fields=("id", "notes"))
    assert found.query == "?token_budget_threshold=5500&summary_fields=id%2C+notes"
    assert Recommendation("", "", "").query == ""
