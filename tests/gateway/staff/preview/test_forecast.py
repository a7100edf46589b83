"""What recorded calls would get under another budget, from their sizes."""

from dataclasses import replace
from typing import Any

from context_protection.core.policy import DEFAULTS, Policy, RulerName
from gateway.staff.preview.forecast import Forecast, forecast
from gateway.staff.preview.sizes import RecordedSize

PLAIN = RecordedSize(
    operation="list_orders",
    caller="ci-bot",
    kind="list",
    chain="",
    arguments=frozenset(),
    revision="7",
    original=900,
    sent=1000,
    claude_tokens=1500,
    threshold=4000,
    rows=10,
    total_rows=10,
    page=1,
    is_paged=False,
    is_summarized=False,
    is_chunked=False,
    is_oversized=False,
)
# 50 of 500 rows of 200 tokens each, condensed to 40.
PAGE = replace(
    PLAIN, original=10_000, sent=2000, claude_tokens=3000, rows=50, total_rows=500, is_paged=True, is_summarized=True
)
RECORD = replace(
    PLAIN, kind="record", original=6000, sent=400, claude_tokens=600, rows=1, total_rows=0, is_summarized=True
)


def predicted(*sizes: RecordedSize, now: Policy = DEFAULTS, revision: str = "7", **changes: Any) -> Forecast:
    new = replace(now, **changes)
    return forecast(sizes, lambda *_: now, lambda *_: new, revision=revision)


def test_the_budget_in_force_is_as_it_was_recorded():
    found = predicted(PLAIN, PAGE, RECORD)
    assert found.now == found.new
    assert (found.now.shortened, found.now.paged, found.now.refused) == (2, 1, 0)
    assert found.now.tokens == 1500 + 3000 + 600
    assert (found.exact, found.estimated, found.changed) == (3, 0, 0)


def test_a_record_that_fits_the_new_budget_is_sent_whole():
    found = predicted(RECORD, token_budget_threshold=8000)
    assert found.new.shortened == 0
    assert found.new.tokens == 9000  # 6,000 by the formula, at 1.5 of Claude's tokens each
    assert (found.exact, found.estimated, found.changed) == (0, 1, 1)


def test_whole_answers_below_both_budgets_stay_exactly_as_they_are():
    found = predicted(PLAIN, PLAIN, token_budget_threshold=2000)
    assert (found.exact, found.changed) == (2, 0)


def test_a_smaller_page_leaves_more_rows_for_later():
    found = predicted(PAGE, default_page_size=25)
    assert found.new.paged == 1
    assert found.new.tokens == 1500  # 25 condensed rows, which are over 4,000 tokens as whole ones
    assert predicted(PLAIN, default_page_size=5).new.paged == 1


def test_a_page_of_whole_rows_that_fits_is_not_shortened():
    found = predicted(PAGE, token_budget_threshold=11_000)
    assert found.new.shortened == 0
    assert found.new.tokens == 15_000


def test_a_page_that_was_cut_above_the_default_size_does_not_shrink_under_a_larger_budget():
    """Its limit is not recorded, but was larger than the rows that were sent."""
    cut = replace(PAGE, arguments=frozenset({"limit"}), is_oversized=True, original=16_000, sent=3200, rows=80)
    found = predicted(cut, token_budget_threshold=8000)
    assert found.new.tokens == found.now.tokens
    assert found.changed == 0


def test_a_limit_above_the_new_maximum_is_refused():
    asked = replace(PAGE, arguments=frozenset({"limit"}))
    found = predicted(asked, PAGE, default_page_size=20, max_page_size=20)
    assert found.new.refused == 1
    assert found.now.refused == 0


def test_the_count_that_decides_the_budget_is_obeyed():
    """1,000 tokens by the formula are 1,500 of Claude's."""
    whole = replace(PLAIN, kind="record", original=1000)
    assert predicted(whole, token_budget_threshold=1200).new.shortened == 0
    assert predicted(whole, token_budget_threshold=1200, ruler=RulerName.CLAUDE).new.shortened == 1


def test_a_preview_has_the_size_of_other_previews_of_the_tool():
    whole = replace(PLAIN, kind="record", original=3000, sent=3000, claude_tokens=4500, rows=1, total_rows=0)
    found = predicted(RECORD, whole, token_budget_threshold=2000)
    assert found.new.tokens == 600 + 600


def test_calls_of_an_older_configuration_are_estimated_on_both_sides():
    found = predicted(PAGE, revision="8", token_budget_threshold=8000)
    assert (found.exact, found.estimated) == (0, 1)


def test_a_text_below_the_new_budget_is_not_split():
    chunk = replace(PLAIN, kind="text", original=5000, sent=2000, claude_tokens=2500, rows=1, is_chunked=True)
    assert predicted(chunk, token_budget_threshold=6000).new.tokens == 6250
    assert predicted(chunk, chunk_tokens=1000).new.tokens == 1250
