"""Brings one index up to date while the caller waits, and reports its progress."""

import time
from collections.abc import Iterator

from gateway.connectors.codebase.indexing import states
from gateway.connectors.codebase.indexing.advance import AdvanceOutcome
from gateway.connectors.codebase.indexing.process import IndexingProcess
from gateway.connectors.codebase.indexing.synchronization import MOMENT, advanced
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus, Progress


class IndexIncomplete(Exception):
    """The message says why the index is incomplete, and what to do."""


def brought_up_to_date(project: Project, seconds: float) -> Iterator[str]:
    """Yields lines about the progress until the index matches the tree. The work is done in a child process, or by
    Sluice's worker if it is already indexing the project. Raises IndexIncomplete."""
    states.begin_missing()
    ends, process, before = time.monotonic() + seconds, IndexingProcess(), ""
    try:
        while True:
            found = advanced(project, process)
            states.record(project.pk, found)
            if found.outcome is AdvanceOutcome.FAILED:
                raise IndexIncomplete(found.error)
            now = _progress(project)
            if (line := in_words(now)) != before:
                yield line
                before = line
            if found.outcome in (AdvanceOutcome.DONE, AdvanceOutcome.UNCHANGED):
                return
            if time.monotonic() >= ends:
                raise IndexIncomplete(
                    f"The index of {project} is not complete after {seconds:g} seconds: {in_words(now)}. Sluice "
                    "continues while it runs. To wait longer, give more seconds with --wait."
                )
            if found.outcome is AdvanceOutcome.BUSY:
                time.sleep(MOMENT)
    finally:
        process.stop()


def in_words(progress: Progress) -> str:
    """One line: 45 %, 450 of 1,000 files. Reading files, 12 s left"""
    match progress.status:
        case IndexStatus.NOT_STARTED:
            return "not begun"
        case IndexStatus.ERROR:
            return "failed; the admin says why"
        case IndexStatus.COMPLETE:
            return f"complete, {progress.total_files:,} files"
    left = f", {progress.remaining:.0f} s left" if progress.remaining else ""
    files = f"{progress.processed_files:,} of {progress.total_files:,} files"
    return f"{progress.percent} %, {files}. {progress.activity}{left}"


def _progress(project: Project) -> Progress:
    return states.progress(IndexState.objects.get(project=project))
