"""Each process says every few seconds how it is: pages, lights and alerts see what no single process knows."""

import os
from datetime import timedelta

import pytest
from django.db import DatabaseError
from django.utils import timezone

from benchmarks.processes import resident_mb
from gateway.mcp.tools import tool_list_figures
from gateway.process.reporter import Reporter, upstream_document
from gateway.upstreams.client import Upstream
from gateway.upstreams.registry import upstreams
from gateway.version import VERSION
from telemetry import processes
from telemetry.models import Event, ProcessReport

pytestmark = pytest.mark.django_db


def reported() -> tuple[Reporter, ProcessReport]:
    reporter = Reporter()
    reporter.describe_tool_list(tool_list_figures)
    reporter.report()
    return reporter, ProcessReport.objects.get(process=reporter.process)


def test_a_report_has_stores_recorder_upstreams_and_tool_list():
    _, row = reported()
    assert (row.kind, row.version) == ("web", VERSION)
    report = row.report
    assert report["stores"]["database"]["ok"] is True
    assert report["stores"]["database"]["ms"] >= 0
    assert set(report["recorder"]) == {"queued", "stored", "dropped", "lastDroppedAt", "lagSeconds", "lastError"}
    assert report["toolList"]["tools"] > 10
    assert report["toolList"]["isSearch"] is False
    assert report["ruler"]
    nsip = next(each for each in report["upstreams"] if each["name"] == "nsip")
    assert (nsip["connector"], nsip["breaker"], nsip["nextTryInSeconds"]) == ("nsip", "closed", 0)


def test_a_second_report_replaces_the_first_and_a_process_that_ends_leaves_none():
    reporter, first = reported()
    reporter.report()
    assert ProcessReport.objects.get(process=reporter.process).seen_at > first.seen_at
    processes.forget(reporter.process)
    assert not ProcessReport.objects.filter(process=reporter.process).exists()


def test_every_report_gives_free_memory_back():
    reporter, _ = reported()
    blocks = [bytes(100_000) for _ in range(640)]
    end_of_heap = bytes(100_000)  # glibc itself returns what is free behind the last block
    used = resident_mb(os.getpid())
    del blocks
    reporter.report()
    assert resident_mb(os.getpid()) < used - 32
    assert end_of_heap


def test_reports_of_processes_that_are_gone_are_deleted():
    reporter, _ = reported()
    assert processes.purge(now=timezone.now() + timedelta(minutes=9)) == 0
    assert [each.process for each in processes.alive()] == [reporter.process]
    assert processes.alive(now=timezone.now() + timedelta(minutes=1)) == []
    assert processes.purge(now=timezone.now() + timedelta(minutes=11)) == 1


def test_a_report_that_fails_is_told_once_and_ends_nothing(monkeypatch, caplog):
    reporter = Reporter()

    def away(*args, **fields):
        raise DatabaseError

    with monkeypatch.context() as broken:
        broken.setattr(processes, "write", away)
        for _ in range(3):
            reporter._attempt(reporter.report)
    assert [each.getMessage() for each in caplog.records].count("the process cannot report") == 1

    reporter._attempt(reporter.report)
    assert ProcessReport.objects.filter(process=reporter.process).exists()


def test_the_first_process_of_a_new_version_is_a_deployment():
    reported()
    reported()
    assert [(each.kind, each.after) for each in Event.objects.filter(kind="D")] == [("D", VERSION)]


def test_a_tool_list_that_becomes_a_search_is_an_event(settings):
    reported()
    assert not Event.objects.filter(kind="F").exists()
    settings.TOOL_LIST_BUDGET = 10
    from context_protection.configuration.revisions import revisions

    revisions.bump()
    _, row = reported()
    assert row.report["toolList"]["isSearch"] is True
    assert Event.objects.get(kind="F").after == "search"


def test_an_open_breaker_is_reported_with_the_time_to_the_next_try():
    upstream = Upstream("acme", connector="openapi")
    for _ in range(5):
        upstream._breaker.failed()
    document = upstream_document(upstream.state())
    assert (document["name"], document["connector"], document["breaker"]) == ("acme", "openapi", "open")
    assert 0 < document["nextTryInSeconds"] <= 5
    assert upstreams.get("acme") is None
