"""Brings the indexes of all projects up to date, working on each for a moment in turn."""

import logging
import threading
import time
from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from gateway.connectors.codebase.index.index_place import IndexFailed
from gateway.connectors.codebase.indexing import index_places, states
from gateway.connectors.codebase.indexing.advance import Advance, AdvanceOutcome
from gateway.connectors.codebase.indexing.process import IndexingProcess, process
from gateway.connectors.codebase.models import Project
from gateway.connectors.codebase.progress import IndexStatus

MOMENT = 1.0  # seconds of work on one project, after which its progress is stored and the others have their turn
RETRY = timedelta(seconds=30)  # after a failure
logger = logging.getLogger(__name__)
_one_at_a_time = threading.Lock()


def synchronize(seconds: float, child: IndexingProcess = process) -> bool:
    """Works for about `seconds`. Returns whether nothing is left to do; True at once if another thread is
    synchronizing."""
    if not _one_at_a_time.acquire(blocking=False):
        return True
    try:
        return _in_turns(seconds, child)
    finally:
        _one_at_a_time.release()


def _in_turns(seconds: float, child: IndexingProcess) -> bool:
    ends = time.monotonic() + seconds
    states.begin_missing()
    child.keep({index_places.place_of(project_id) for project_id in Project.objects.values_list("pk", flat=True)})
    _delete_left_behind()
    waiting = list(_due(Project.objects.select_related("index")))
    while waiting:
        for project in waiting.copy():
            if not advance(project, child):
                waiting.remove(project)
            if time.monotonic() >= ends:
                return not waiting
    return True


def _delete_left_behind() -> None:
    try:
        index_places.delete_left_behind()
    except IndexFailed:
        logger.exception("an index cannot be deleted yet")


def advance(project: Project, child: IndexingProcess = process) -> bool:
    """Works on one project for a moment. Returns whether there is more to do."""
    found = advanced(project, child)
    if not states.record(project.pk, found):
        index_places.delete(project.pk)  # `advanced` created it for a project that was just removed
        return False
    return found.outcome is AdvanceOutcome.WORKING


def advanced(project: Project, child: IndexingProcess) -> Advance:
    """Like `advance`, but stores no state."""
    try:
        return child.advance(project.root, index_places.created(project.pk), MOMENT)
    except IndexFailed as error:
        return Advance(AdvanceOutcome.FAILED, error=str(error))


def _due(projects: Iterable[Project]) -> Iterable[Project]:
    """The projects, except those that have just failed."""
    latest = timezone.now() - RETRY
    for project in projects:
        state = project.index
        if state.status != IndexStatus.ERROR or state.checked_at is None or state.checked_at < latest:
            yield project
