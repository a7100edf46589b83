"""A dead upstream is seen although nobody calls it, and one that is called is left in peace."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from gateway import upstream_probes
from gateway.connectors.mcp_servers import server_probes
from gateway.process.reporter import Reporter
from gateway.upstreams import probes
from gateway.upstreams.registry import upstreams
from telemetry import events, processes
from telemetry.models import Event, ProcessReport
from tests.doors import Doors
from tests.gateway.test_failing_upstreams import Bad
from tests.gateway.test_failing_upstreams import bad as bad  # a fixture

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def only_imported_apis(monkeypatch, settings):
    """The probes of other connectors would leave this machine."""
    from gateway.connectors.openapi import connector

    settings.ALLOW_PRIVATE_UPSTREAMS = True
    monkeypatch.setattr(probes, "_sources", [connector.CONNECTOR.probes])
    monkeypatch.setattr(probes, "_results", {})


@pytest.mark.parametrize(("status", "is_ok"), [(200, True), (404, True), (401, True), (500, False), (503, False)])
def test_an_upstream_that_answers_anything_is_alive_unless_it_fails(bad: Bad, status: int, is_ok: bool):
    bad.imported()
    bad.upstream.mode, bad.upstream.status = "given", status
    upstream_probes.probe_quiet_upstreams()
    result = probes.result_of("bad")
    assert result is not None
    assert (result.ok, result.status) == (is_ok, status)
    assert bool(result.message) is not is_ok
    assert len(bad.upstream.requests) == 1


def test_a_probe_counts_for_no_breaker(bad: Bad):
    bad.imported()
    bad.upstream.mode, bad.upstream.status = "given", 503
    for _ in range(6):
        assert upstream_probes.probe_now("bad")["ok"] is False
    upstream = upstreams.get("bad")
    assert upstream is not None
    assert (upstream.state().breaker, upstream.state().last_failure_at) == ("closed", None)


def test_an_upstream_that_does_not_answer_is_told_with_the_reason(bad: Bad):
    bad.imported(base_url="http://127.0.0.1:1")
    found = upstream_probes.probe_now("bad")
    assert (found["ok"], found["status"]) == (False, 0)
    assert "cannot be reached" in found["message"]
    assert upstream_probes.probe_now("no such upstream") is None


def test_a_connector_whose_configuration_is_wrong_does_not_stop_the_probes_of_others(
    bad: Bad, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    bad.imported()
    settings.MCP_SERVERS_FILE = str(tmp_path / "missing.json")
    monkeypatch.setattr(probes, "_sources", [server_probes.probes, *probes._sources])
    upstream_probes.probe_quiet_upstreams()
    result = probes.result_of("bad")
    assert result is not None
    assert result.ok
    assert "probes could not be prepared" in caplog.text
    assert "missing.json" in caplog.text


def test_an_upstream_that_was_called_a_moment_ago_is_not_probed(bad: Bad):
    bad.imported()
    now = datetime.now(UTC)
    ProcessReport.objects.create(
        process="0" * 32, kind="web", host="h", pid=1, started_at=now, seen_at=now, version="1",
        report={"upstreams": [{"name": "bad", "lastSuccessAt": now.isoformat(), "lastFailureAt": None}]},
    )  # fmt: skip
    assert processes.last_contacts()["bad"] == now
    upstream_probes.probe_quiet_upstreams()
    assert bad.upstream.requests == []


def test_the_result_is_in_the_next_report(bad: Bad):
    bad.imported()
    upstream_probes.probe_now("bad")
    reporter = Reporter()
    reporter.report()
    report = ProcessReport.objects.get(process=reporter.process).report
    found = next(each for each in report["upstreams"] if each["name"] == "bad")
    assert (found["probe"]["ok"], found["connector"]) == (True, "openapi")


def test_a_breaker_that_opens_and_closes_leaves_two_events(doors: Doors, bad: Bad):
    bad.imported()
    bad.upstream.mode, bad.upstream.status = "given", 503
    for number in range(6):
        doors.post("bad_list_rows", {"search": f"word{number}"})
    bad.turn("ok")
    bad.later(120)
    doors.post("bad_list_rows", {"search": "other"})
    assert events.flush()
    found = Event.objects.filter(kind="B", subject="bad").order_by("pk")
    assert [(each.after, each.reason) for each in found] == [("open", "upstream_failed"), ("closed", "")]


def test_a_breaker_that_is_open_when_its_process_ends_is_recorded_as_closed(doors: Doors, bad: Bad):
    reporter = Reporter()
    reporter.report()
    bad.imported()
    bad.upstream.mode, bad.upstream.status = "given", 503
    for number in range(6):
        doors.post("bad_list_rows", {"search": f"word{number}"})
    assert events.flush()
    processes.forget(reporter.process)
    opened, ended = Event.objects.filter(kind="B", subject="bad").order_by("pk")
    assert (opened.after, ended.after, ended.actor) == ("open", "closed", opened.actor)
