"""How far an index is, as tools and pages say it."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from gateway.connectors.codebase.indexing.states import begin_missing, forget, progress_of
from gateway.connectors.codebase.known_projects import KnownProject
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus, Progress


def test_a_document_has_the_fields_of_the_data_model():
    progress = Progress(IndexStatus.IN_PROGRESS, 30, 120, 25, "Reading files", 1.25)
    assert progress.as_document() == {
        "status": "InProgress",
        "processedFiles": 30,
        "totalFiles": 120,
        "percentComplete": 25,
        "currentActivity": "Reading files",
        "estimatedCompletionTimeMs": 1250,
    }


@pytest.fixture
def known(db: None) -> KnownProject:
    project = Project.objects.create(name="shop", path="/code/shop")
    return KnownProject(project.pk, "shop", Path("/code/shop"))


def test_a_project_without_a_state_is_not_started(known: KnownProject):
    assert progress_of(known).as_document()["status"] == "NotStarted"


def test_a_new_project_says_that_indexing_has_not_begun(known: KnownProject):
    begin_missing()
    assert progress_of(known) == Progress()
    assert progress_of(known).activity == "Indexing has not begun yet."


def test_an_index_that_is_deleted_to_be_rebuilt_has_no_progress(known: KnownProject):
    now = timezone.now()
    IndexState.objects.create(
        project_id=known.id,
        status=IndexStatus.COMPLETE,
        processed_files=671,
        total_files=671,
        percent=100,
        current_activity="The index is up to date.",
        started_at=now,
        expected_at=now,
    )
    forget(known.id)
    assert progress_of(known) == Progress()
    state = IndexState.objects.get()
    assert (state.total_files, state.current_activity, state.started_at, state.expected_at) == (0, "", None, None)


def test_the_progress_is_what_was_stored_last(known: KnownProject):
    IndexState.objects.create(
        project_id=known.id,
        status=IndexStatus.IN_PROGRESS,
        processed_files=30,
        total_files=120,
        percent=25,
        current_activity="Reading files",
        expected_at=timezone.now() + timedelta(seconds=180),
    )
    progress = progress_of(known)
    assert (progress.status, progress.processed_files, progress.total_files) == (IndexStatus.IN_PROGRESS, 30, 120)
    assert progress.remaining == pytest.approx(180, abs=5)


def test_an_estimate_that_has_passed_is_not_below_zero(known: KnownProject):
    past = timezone.now() - timedelta(seconds=180)
    IndexState.objects.create(project_id=known.id, status=IndexStatus.IN_PROGRESS, expected_at=past)
    assert progress_of(known).remaining == 0


def test_an_error_tells_callers_no_path(known: KnownProject):
    IndexState.objects.create(project_id=known.id, status=IndexStatus.ERROR, error="/code/shop is gone.")
    progress = progress_of(known)
    assert progress.status is IndexStatus.ERROR
    assert "admin" in progress.activity
    assert "/code" not in progress.activity
