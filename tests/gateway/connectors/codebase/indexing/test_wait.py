"""A call that waits for an index reports its progress once for each change."""

import time
from datetime import timedelta
from pathlib import Path

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from gateway.connectors.codebase.indexing.wait import LOOK_SECONDS, progress_until
from gateway.connectors.codebase.known_projects import KnownProject
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus
from gateway.dispatch.progress import listener

Report = tuple[float, float | None, str | None]


@pytest.fixture
def project(db: None) -> KnownProject:
    project = Project.objects.create(name="shop", path="/code/shop")
    IndexState.objects.update_or_create(
        project=project,
        defaults={
            "status": IndexStatus.IN_PROGRESS,
            "percent": 40,
            "processed_files": 2,
            "total_files": 5,
            "current_activity": "Reading files",
            "expected_at": timezone.now() + timedelta(minutes=5),  # less remains at each look
        },
    )
    return KnownProject(project.pk, "shop", Path("/code/shop"))


def waited(project: KnownProject, seconds: float) -> tuple[int, list[Report]]:
    """The percentage at the end, and the reports."""
    reports: list[Report] = []
    token = listener.set(lambda progress, total, message: reports.append((progress, total, message)))
    try:
        progress = async_to_sync(progress_until)(project, time.monotonic() + seconds)
    finally:
        listener.reset(token)
    return progress.percent, reports


def test_an_unchanged_progress_is_reported_once(project: KnownProject):
    assert waited(project, 4 * LOOK_SECONDS) == (40, [(40, 100, "Reading files: 2 of 5, 40 %")])


def test_a_complete_index_is_not_waited_for(project: KnownProject):
    IndexState.objects.update(status=IndexStatus.COMPLETE, percent=100)
    assert waited(project, 60) == (100, [])


def test_a_failed_index_is_not_waited_for(project: KnownProject):
    IndexState.objects.update(status=IndexStatus.ERROR)
    assert waited(project, 60) == (40, [])


def test_there_is_no_wait_without_time(project: KnownProject):
    assert waited(project, 0) == (40, [])
