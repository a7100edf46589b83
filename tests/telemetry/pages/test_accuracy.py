"""The page of token accuracy."""

from datetime import timedelta

from django.utils import timezone

from telemetry.models import TokenAudit
from tests.telemetry.pages.test_pages_about_one import page, section, words


def audited(kind: str, count: int, *, formula: int, claude: int, actual: int = 1000) -> None:
    now = timezone.now()
    TokenAudit.objects.bulk_create(
        TokenAudit(
            at=now - timedelta(minutes=n),
            operation="list_orders",
            text_class=kind,
            chars=4000,
            formula_tokens=formula,
            claude_tokens=claude,
            actual_tokens=actual,
            source="ctok",
        )
        for n in range(count)
    )


def test_the_first_sentence_says_how_far_both_counts_are_off(staff):
    audited("JSON rows", 30, formula=610, claude=1010)
    text = page(staff, "accuracy/", "")
    assert "The formula counts 39.0% less than Claude (median of 30 answers)" in text
    assert "own count is within ±10% for 100.0%." in text
    assert "Where budgets are decided by the formula, 4,000 lets about 6,600 tokens through." in text


def test_each_class_has_its_median_its_spread_and_its_shares(staff):
    audited("JSON rows", 30, formula=610, claude=1010)
    audited("prose", 10, formula=1220, claude=850)
    shown = words(section(page(staff, "accuracy/", ""), "classes"))
    assert "JSON rows 30 −39.0% 0.0% +1.0% 100.0% 0.0%" in shown
    assert "prose 10 few +22.0% 0.0% −15.0% 0.0% 100.0%" in shown


def test_the_spread_is_read_out(staff):
    for error in range(-50, 51):
        audited("log", 1, formula=1000 + 10 * error, claude=1000)
    text = section(page(staff, "accuracy/", ""), "classes")
    assert "80% between −40% and +40%, half between −25% and +25%, median +0%" in text


def test_the_answers_with_the_largest_errors_come_first(staff):
    audited("JSON rows", 30, formula=1000, claude=1000)
    audited("log", 1, formula=1000, claude=400)
    shown = words(section(page(staff, "accuracy/", ""), "table-worst"))
    assert shown.index("−60.0%") < shown.index("0.0%", shown.index("−60.0%") + 6)
    assert shown.count("JSON rows") == 19


def test_without_audits_the_page_says_why_it_is_empty(staff):
    assert "No answer was counted in full in 7 days." in page(staff, "accuracy/", "")


def test_audits_outside_the_range_do_not_count(staff):
    audited("JSON rows", 30, formula=610, claude=1010)
    TokenAudit.objects.update(at=timezone.now() - timedelta(days=8))
    assert "No answer was counted in full" in page(staff, "accuracy/", "")
