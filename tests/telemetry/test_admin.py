"""The pages of calls and alerts: to look at, with charts that follow the filters."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from telemetry.models import RejectedKey, TelemetryRecord, TokenAudit
from tests.telemetry.alerts.examples import an_alert
from tests.telemetry.examples import NOON, a_call, a_summary, stored

pytestmark = pytest.mark.django_db

CALLS = "/admin/telemetry/telemetryrecord/"
ALERTS = "/admin/telemetry/alert/"


def ago(**time):
    return timezone.now() - timedelta(**time)


def page(client, query=""):
    response = client.get(CALLS + query)
    assert response.status_code == 200
    return response.content.decode()


def charts(html):
    found = re.findall(r'<script id="chart-data-\w+" type="application/json">(.*?)</script>', html, re.DOTALL)
    return {chart["key"]: chart for chart in map(json.loads, found)}


def total(chart, label):
    """0 without the line: a chart leaves out lines without a value."""
    return sum(value or 0 for line in chart["lines"] if line["label"] == label for value in line["values"])


def test_charts_show_the_calls_of_the_list(admin_client):
    stored(a_call(at=ago(minutes=5)), *[a_summary(at=ago(minutes=5))] * 2)
    drawn = charts(page(admin_client))
    assert list(drawn) == ["outcomes", "tokens", "oversized"]
    assert total(drawn["outcomes"], "Whole") == 1
    assert total(drawn["outcomes"], "Summarised") == 2
    assert total(drawn["tokens"], "Sent") == 3 * 1000
    assert total(drawn["tokens"], "Saved") == int((900 + 2 * 6000) * 3000 / 5700) - 3000
    assert max(value or 0 for value in drawn["oversized"]["lines"][0]["values"]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("query", "calls"),
    [
        ("", 4),
        ("?range=1h", 3),
        ("?range=7d", 5),
        ("?range=any", 6),
        ("?range=nonsense", 4),
        ("?outcome__exact=summarized", 1),
        ("?operation=list_bookings&door__exact=http", 1),
        ("?caller=ci", 1),
        ("?oversized__exact=1", 1),
        ("?range=any&outcome__exact=plain&door__exact=rest", 4),
    ],
)
def test_charts_and_tiles_follow_the_filters(admin_client, query, calls):
    stored(
        a_call(at=ago(minutes=1)),
        a_call(at=ago(minutes=2), transport="http", caller="ci"),
        a_summary(at=ago(minutes=3)),
        a_call(at=ago(hours=3)),
        a_call(at=ago(days=3)),
        a_call(at=ago(days=20)),
    )
    html = page(admin_client, query)
    assert sum(total(charts(html)["outcomes"], label) for label in ("Whole", "Summarised")) == calls
    assert f'<dd class="value">{calls}</dd>' in html


def test_a_request_is_found_by_its_id_however_old(admin_client):
    stored(a_call(request_id="req-abc-1", at=ago(days=9)), a_call(request_id="other", at=ago(days=9)))
    html = page(admin_client, "?q=req-abc")
    assert total(charts(html)["outcomes"], "Whole") == 1


def test_latency_is_drawn_from_twenty_calls_on(admin_client):
    stored(*[a_call(at=ago(minutes=5), latency_ms=40)] * 19)
    html = page(admin_client)
    assert "percentiles" not in charts(html)
    assert "Too few calls for percentiles" in html
    stored(*[a_call(at=ago(minutes=5), latency_ms=40)] * 30)
    highest = max(value or 0 for value in charts(page(admin_client))["percentiles"]["lines"][0]["values"])
    assert highest == pytest.approx(40, rel=0.0221)


def test_without_calls_the_page_says_so_in_place_of_charts(admin_client):
    html = page(admin_client)
    assert charts(html) == {}
    assert "No calls in this range yet" in html
    assert "<canvas" not in html


def test_every_chart_has_its_data_as_a_table(admin_client):
    stored(*[a_summary(at=ago(minutes=5), latency_ms=40)] * 30)
    html = page(admin_client)
    assert html.count("<canvas") == html.count('<details class="data"') == 4


def test_the_page_has_no_inline_script_or_style(admin_client):
    stored(a_call(at=ago(minutes=5)))
    html = page(admin_client)
    assert not re.findall(r"<style|\sstyle=|\son[a-z]+=", html)
    for attributes in re.findall(r"<script([^>]*)>", html):
        assert "src=" in attributes or 'type="application/json"' in attributes


def test_the_page_costs_a_fixed_number_of_queries(admin_client, django_assert_max_num_queries):
    stored(*[a_call(at=ago(minutes=n), caller=f"caller {n % 7}") for n in range(60)])
    with django_assert_max_num_queries(20):
        page(admin_client)


def test_figures_are_written_for_people(admin_client):
    stored(a_summary(at=ago(minutes=5), latency_ms=1234.5, response_bytes=9830))
    html = page(admin_client)
    for figure in ("2,500 → 1,000", "60.0%", "1.23\u00a0s", "9.6\u00a0KB"):
        assert figure in html


def test_people_read_claudes_count_and_estimates_are_labelled(admin_client):
    stored(a_summary(at=ago(minutes=5), estimated_tokens=2400, claude_tokens=3600))
    html = page(admin_client)
    assert "9,000 → 3,600" in html
    assert "no audits yet" in html
    assert "×\u00a01.50" in html
    TokenAudit.objects.create(at=NOON, text_class="json", chars=9, formula_tokens=2, claude_tokens=9, actual_tokens=10)
    assert "of 1 audits" in page(admin_client)
    call = admin_client.get(f"{CALLS}{TelemetryRecord.objects.get().pk}/change/").content.decode()
    assert "Original tokens, formula estimate" in call
    assert "×\u00a01.50" in call


def test_a_call_can_be_looked_at_and_not_changed(admin_client):
    stored(a_summary())
    url = f"{CALLS}{TelemetryRecord.objects.get().pk}/change/"
    html = admin_client.get(url).content.decode()
    assert "2026-11-20 12:00:00" in html
    assert 'name="_save"' not in html
    assert admin_client.post(url, {}).status_code == 403
    assert admin_client.get(f"{CALLS}add/").status_code == 403
    assert admin_client.post(url.replace("change", "delete")).status_code == 403


def test_the_index_says_that_alerts_are_of_all_kinds_of_rules(admin_client):
    shown = admin_client.get("/admin/").content.decode()
    assert "Which rules fire, such as too many errors or oversized answers, and since when." in shown


def test_alerts_can_be_looked_at_and_not_changed(admin_client):
    alert = an_alert(value=0.0612)
    html = admin_client.get(ALERTS).content.decode()
    assert "tm-badge-alerting" in html
    assert "6.1%" in html
    url = f"{ALERTS}{alert.pk}/change/"
    assert admin_client.get(url).status_code == 200
    assert admin_client.post(url, {}).status_code == 403
    assert admin_client.get(f"{ALERTS}add/").status_code == 403


def test_every_page_writes_dates_in_one_form(admin_client):
    stored(a_call(at=ago(minutes=5)))
    TokenAudit.objects.create(at=NOON, text_class="json", chars=9, formula_tokens=2, claude_tokens=3, actual_tokens=3)
    RejectedKey.objects.create(minute=NOON, address="127.0.0.1", transport="rest", attempts=1, last_at=NOON)
    an_alert()
    for model in ("telemetryrecord/?range=any", "tokenaudit/", "rejectedkey/?range=any", "alert/"):
        html = admin_client.get(f"/admin/telemetry/{model}").content.decode()
        assert not re.findall(r"Nov\b|noon|a\.m\.|p\.m\.", html), model
        assert "2026-11-20 12:00" in html, "in the list, and in the banner of the alert"


def test_the_pages_are_for_staff(client):
    assert client.get(CALLS).status_code == 302
    assert client.get(ALERTS).status_code == 302


def test_what_upstream_lacks_of_previews_is_told_above_the_calls(admin_client: Any):
    lacking = a_call(at=ago(minutes=5), operation="get_booking", missing_fields="arrivalDate, guestName")
    stored(lacking, a_call(at=ago(minutes=5)), a_call(at=ago(minutes=5)))
    page = admin_client.get(CALLS).content.decode()
    assert "<b>get_booking</b>: arrivalDate, guestName <span>(1 call)</span>" in page
