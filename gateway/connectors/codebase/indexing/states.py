"""The stored state of a project's index. These functions query the database."""

from datetime import timedelta

from django.utils import timezone

from gateway.connectors.codebase.indexing.advance import Advance, AdvanceOutcome
from gateway.connectors.codebase.known_projects import KnownProject
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus, Progress

FAILED = "The index could not be updated. Operators see the reason in the admin, under Projects."

COMPLETE = "The index is up to date."
_STORED = tuple(field.attname for field in IndexState._meta.concrete_fields if not field.primary_key)


def progress_of(project: KnownProject) -> Progress:
    state = IndexState.objects.filter(project_id=project.id).first()
    return Progress() if state is None else progress(state)


def progress(state: IndexState) -> Progress:
    """The progress as callers may see it: without the error, which may contain paths."""
    status = IndexStatus(state.status)
    if status is IndexStatus.NOT_STARTED:
        return Progress()
    return Progress(
        status=status,
        processed_files=state.processed_files,
        total_files=state.total_files,
        percent=state.percent,
        activity=FAILED if status is IndexStatus.ERROR else state.current_activity,
        remaining=_remaining(state) if status is IndexStatus.IN_PROGRESS else 0.0,
    )


def begin_missing() -> None:
    """Gives a state to every project that has none."""
    missing = [IndexState(project=project) for project in Project.objects.filter(index=None)]
    IndexState.objects.bulk_create(missing, ignore_conflicts=True)


def forget(project_id: int) -> None:
    """Resets the state of an index that was deleted to be rebuilt."""
    new = IndexState(project_id=project_id)
    IndexState.objects.filter(project_id=project_id).update(**{name: getattr(new, name) for name in _STORED})


def record(project_id: int, advance: Advance) -> bool:
    """Stores the result of an advance. False if the project was removed meanwhile."""
    state = IndexState.objects.filter(project_id=project_id).first()
    if state is None:
        return False
    if advance.outcome is AdvanceOutcome.BUSY:
        return True
    state.checked_at = timezone.now()
    match advance.outcome:
        case AdvanceOutcome.FAILED:
            state.status, state.error = IndexStatus.ERROR, advance.error
        case AdvanceOutcome.WORKING:
            _work(state, advance)
        case AdvanceOutcome.DONE:
            _complete(state, advance)
        case AdvanceOutcome.UNCHANGED:
            state.status, state.error, state.percent = IndexStatus.COMPLETE, "", 100
    IndexState.objects.filter(pk=state.pk).update(**{name: getattr(state, name) for name in _STORED})
    return True


def _work(state: IndexState, advance: Advance) -> None:
    """A complete index stays complete while few files differ, because these are written at once. Within a run, neither
    the processed files nor the percentage decrease, even if the run had to begin again."""
    step, now = advance.step, timezone.now()
    if state.status == IndexStatus.COMPLETE and step.is_small:
        return
    if state.status in (IndexStatus.NOT_STARTED, IndexStatus.COMPLETE):
        state.processed_files, state.percent, state.started_at = 0, 0, now
    state.status, state.error, state.current_activity = IndexStatus.IN_PROGRESS, "", step.activity
    state.processed_files = max(state.processed_files, step.done)
    state.total_files = max(state.processed_files, step.total)
    state.percent = max(state.percent, min(99, int(step.share * 100)))
    state.expected_at = now + timedelta(seconds=advance.remaining) if advance.remaining else None


def _complete(state: IndexState, advance: Advance) -> None:
    step = advance.step
    state.status, state.error, state.percent, state.current_activity = IndexStatus.COMPLETE, "", 100, COMPLETE
    state.processed_files = state.total_files = step.total
    state.commit, state.expected_at = step.commit, None


def _remaining(state: IndexState) -> float:
    return max(0.0, (state.expected_at - timezone.now()).total_seconds()) if state.expected_at else 0.0
