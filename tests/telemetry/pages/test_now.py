"""The page Now in each of its states, with figures that equal what is stored."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from telemetry.models import Event, ProcessReport, TelemetryRecord
from telemetry.models.alerts import AlertRule
from telemetry.queries import recent
from telemetry.wording import SPACE
from tests.telemetry.examples import a_call, stored

NOW = "/telemetry/"


@pytest.fixture(autouse=True)
def usual_is_read_anew():
    recent.forget_usual()
    yield
    recent.forget_usual()


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture(autouse=True)
def checked_rules(db, now):
    AlertRule.objects.filter(is_enabled=True).update(checked_at=now)
    if not AlertRule.objects.exists():
        AlertRule.objects.create(name="Errors", checked_at=now)


def reported(now: datetime, **changes: Any) -> None:
    report = {
        "recorder": {"queued": 0, "stored": 9, "dropped": 0, "lagSeconds": 0.8, "lastError": ""},
        "stores": {
            "database": {"ms": 2, "ok": True, "poolUsed": 3, "poolSize": 20},
            "redis": {"ms": 1, "ok": True},
            "room": True,
        },
        "upstreams": [an_upstream("acme"), an_upstream("hostaway")],
    }
    ProcessReport.objects.create(
        process=uuid4(),
        kind="web",
        host="h",
        pid=1,
        started_at=now,
        seen_at=now,
        version="1",
        report={**report, **changes},
    )


def an_upstream(name: str, breaker: str = "closed") -> dict[str, Any]:
    return {"name": name, "connector": "http", "breaker": breaker, "lastSuccessAt": None, "probe": None}


def failed(at: datetime, n: int = 0, **changes: Any):
    values = {
        "request_id": f"failed-{n}",
        "operation": "get_order",
        "upstream": "acme",
        "outcome": "error",
        "origin": "upstream",
        "error_reason": "upstream_unavailable",
        "error_message": "acme does not accept connections.",
    }
    return a_call(at=at, **{**values, **changes})


def answered(at: datetime, **changes: Any):
    return a_call(at=at, **{"upstream": "hostaway", **changes})


def acme_dies(now: datetime) -> None:
    """4 minutes ago. 30 of 90 calls fail, 28 because of it."""
    down = [now - timedelta(seconds=8 * n + 1) for n in range(28)]
    stored(
        *(answered(now - timedelta(seconds=13 * n + 5)) for n in range(58)),
        *(a_call(at=now - timedelta(minutes=9), upstream="acme", operation="get_order") for _ in range(2)),
        *(failed(at, n) for n, at in enumerate(down)),
        failed(now - timedelta(seconds=9), 98, origin="caller", error_reason="invalid_argument", upstream=""),
        failed(now - timedelta(seconds=9), 99, origin="sluice", error_reason="internal", upstream=""),
    )
    reported(now, upstreams=[an_upstream("acme", "open"), an_upstream("hostaway")])


def read(client, address: str = NOW) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def text(html: str, part: str = "") -> str:
    """What a reader sees of the element with this id, or of the page."""
    found = (
        re.search(rf'<(\w+)[^>]* id="{part}".*?\n</\1>|<(\w+)[^>]* id="{part}".*?</\2>', html, re.S) if part else None
    )
    plain = re.sub(r"<[^>]+>", " ", found[0] if found else html)
    return re.sub(r"\s+", " ", unescape(plain).replace(SPACE, " "))


def sentence(html: str) -> str:
    return text(re.search(r'<p class="sentence">.*?</p>', html, re.S)[0]).strip()


def title(html: str) -> str:
    return unescape(re.search(r"<title>(.*?)</title>", html, re.S)[1].strip())


def states(html: str) -> dict[str, str]:
    return dict(re.findall(r'data-light="([^"]+)" data-state="([^"]+)"', html))


def test_all_well_is_one_sentence_and_a_plain_title(staff, now):
    stored(*(answered(now - timedelta(seconds=n)) for n in range(40)), answered(now, upstream="acme"))
    reported(now)
    html = read(staff)
    assert sentence(html) == "OK Everything works. 41 calls in the last 15 minutes, none failed."
    assert title(html) == "All well – Sluice"
    names = ("Sluice", "acme", "hostaway", "Database", "Redis", "Recording", "Alerting")
    assert {states(html)[name] for name in names} == {"OK"}
    assert "All well" in text(html, "pill")


def test_a_dead_upstream_is_named_in_sentence_title_and_pill(staff, now):
    acme_dies(now)
    html = read(staff)
    assert re.match(
        r"Down acme is down since \d\d:\d\d \([34] min\)\. Also Sluice degraded\. "
        r"30 of 90 calls failed in the last 15 minutes \(33\.3%\); 28 of them because of acme\.",
        sentence(html),
    ), sentence(html)
    assert title(html) == "■ acme down, 1 more – Sluice"
    assert states(html)["acme"] == "Down"
    assert states(html)["hostaway"] == "OK"
    assert "2 problems" in text(html, "pill")


def test_the_origins_add_up_to_the_failed_calls_that_are_stored(staff, now):
    acme_dies(now)
    legend = re.search(r'<ul class="legend">.*?</ul>', read(staff), re.S)[0]
    counts = {name: int(n) for name, n in re.findall(r"(upstream|Sluice|caller|policy) (\d+)", text(legend))}
    assert counts == {"upstream": 28, "Sluice": 1, "caller": 1, "policy": 0}
    assert sum(counts.values()) == TelemetryRecord.objects.filter(outcome="error").count()


def test_what_the_failed_calls_share_stands_beside_what_others_have(staff, now):
    acme_dies(now)
    shared = re.search(r'<section class="card shared".*?</section>', read(staff), re.S)[0]
    assert "What the 30 failed calls share" in text(shared)
    assert "upstream acme 93.3% 3.3%" in text(shared)
    assert "reason upstream_unavailable 93.3% 0.0%" in text(shared)


def test_the_worst_tools_and_callers_and_the_newest_failed_calls_are_listed(staff, now):
    acme_dies(now)
    html = read(staff)
    tools = re.search(r'<section class="card table" data-live id="table-tools".*?</section>', html, re.S)[0]
    assert re.search(r"get_order 32 30 \(93\.8%\)", text(tools)), text(tools)
    assert "list_bookings" not in tools, "it has no failed call"
    callers = re.search(r'<section class="card table" data-live id="table-callers".*?</section>', html, re.S)[0]
    assert re.search(r"ops-bot \(not named\) 90 30 \(33\.3%\)", text(callers)), text(callers)
    newest = re.search(r'<section class="card table" data-live id="table-failed".*?</section>', html, re.S)[0]
    assert newest.count("get_order</a>") == 5
    assert "acme does not accept connections." in text(newest)


def test_a_change_before_it_is_said_without_being_called_the_cause(staff, now):
    acme_dies(now)
    assert "No change of settings and no deployment in the hour before." in text(read(staff))
    Event.objects.create(
        at=now - timedelta(minutes=30), kind="C", summary="acme base address", actor="ops-2", link="/admin/x/"
    )
    Event.objects.create(at=now - timedelta(minutes=90), kind="C", summary="too old to matter")
    before = re.search(r'<p class="shortly-before">.*?</p>', read(staff), re.S)[0]
    assert "Changed shortly before: acme base address, by ops-2" in text(before)
    assert "This may be a coincidence." in text(before)
    assert 'href="/admin/x/"' in before
    assert "too old" not in before


def test_own_errors_are_not_blamed_on_an_upstream(staff, now):
    stored(
        *(answered(now - timedelta(seconds=n), upstream="acme") for n in range(30)),
        *(failed(now - timedelta(seconds=n), n, origin="sluice", upstream="acme") for n in range(9)),
    )
    reported(now)
    html = read(staff)
    assert "Sluice itself fails since" in sentence(html)
    assert "9 of them because of Sluice" in sentence(html)
    assert (states(html)["Sluice"], states(html)["acme"]) == ("Down", "OK")


def test_calls_that_staff_replay_change_no_light(staff, now):
    stored(*(failed(now - timedelta(seconds=n), n, transport="replay") for n in range(9)))
    reported(now)
    assert states(read(staff))["acme"] == "No data"


def test_no_traffic_is_not_shown_as_well(staff, now):
    stored(answered(now - timedelta(hours=3)))
    reported(now)
    html = read(staff)
    assert sentence(html).startswith("No data No calls in the last 15 minutes; the last one was at")
    assert states(html)["acme"] == "No data"
    assert title(html) == "○ No calls – Sluice"
    assert "No calls in this range." in text(html, "origins")


def test_a_new_installation_is_told_to_connect_a_client(staff, now):
    reported(now)
    html = read(staff)
    assert sentence(html).endswith("No calls yet. Connect a client and make one: it appears here within 2 seconds.")


def test_a_late_recorder_says_where_the_figures_end(staff, now):
    stored(*(answered(now - timedelta(seconds=60 + n)) for n in range(9)))
    reported(now, recorder={"queued": 900, "stored": 9, "dropped": 0, "lagSeconds": 47, "lastError": ""})
    html = read(staff)
    assert "47 s ago. Calls are still answered; recording is behind." in sentence(html)
    assert title(html) == "▲ Recording degraded – Sluice"


def test_lost_calls_are_said_even_if_something_else_is_worse(staff, now):
    acme_dies(now)
    reported(now, recorder={"dropped": 213, "lagSeconds": 0, "lastDroppedAt": (now - timedelta(minutes=2)).isoformat()})
    assert "213 calls around" in text(read(staff), "notes")
    ProcessReport.objects.all().delete()
    reported(now, recorder={"dropped": 213, "lagSeconds": 0, "lastDroppedAt": (now - timedelta(hours=1)).isoformat()})
    assert "213 calls around" not in read(staff)


def test_a_dead_alert_checker_is_a_red_light(staff, now):
    stored(*(answered(now - timedelta(seconds=n)) for n in range(9)))
    reported(now)
    AlertRule.objects.update(checked_at=now - timedelta(minutes=5))
    html = read(staff)
    assert "Alerts have not been checked since" in sentence(html)
    assert "Is the beat process running?" in sentence(html)
    assert states(html)["Alerting"] == "Down"


def test_a_process_that_reports_no_more_says_nothing(staff, now):
    stored(answered(now))
    reported(now - timedelta(seconds=31))
    html = read(staff)
    assert states(html)["Database"] == states(html)["Recording"] == "No data"
    assert "No process has reported for 30 seconds" in sentence(html)


def test_filters_hold_for_figures_and_links_but_not_for_lights(staff, now):
    acme_dies(now)
    html = read(staff, f"{NOW}?range=1h&tool=get_order")
    assert "30 of 32 calls failed in the last hour (93.8%); 28 of them because of acme." in sentence(html)
    assert states(html)["hostaway"] == "OK"
    assert 'href="/telemetry/tools/get_order/?range=1h"' in html
    assert re.search(r'href="/telemetry/upstreams/acme/\?range=1h"', html), "a light is about all calls"


def test_filters_that_match_nothing_can_be_removed(staff, now):
    acme_dies(now)
    html = text(read(staff, f"{NOW}?tool=nosuch&key=nobody"))
    assert "No call matches 2 filters. Without them there are 90. Remove filters" in html


def test_the_page_reads_few_times(staff, now):
    """Savepoints and time limits of panels are no reads."""
    acme_dies(now)
    read(staff)
    with CaptureQueriesContext(connection) as asked:
        read(staff)
    reads = [each["sql"] for each in asked if "telemetry_" in each["sql"] and "SELECT" in each["sql"]]
    assert 5 < len(reads) <= 26


def test_texts_from_outside_are_escaped(staff, now):
    reported(now, upstreams=[an_upstream("<b>x</b>", "open")])
    stored(failed(now, error_message="<script>alert(1)</script>", operation="<i>tool</i>", upstream="<b>x</b>"))
    html = read(staff)
    assert "<script>alert" not in html
    assert "<b>x</b>" not in html
    assert "<i>tool" not in html
    assert " style=" not in html


def test_the_state_is_in_the_header_of_every_page(staff, now):
    acme_dies(now)
    for address in ("/telemetry/overview/", "/telemetry/tools/", "/telemetry/upstreams/"):
        assert "2 problems" in text(read(staff, address), "pill"), address
