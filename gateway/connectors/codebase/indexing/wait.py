"""Waits for the index of a project, and reports its progress to a client that asked for it."""

import asyncio
import time

from gateway.connectors.codebase.indexing.states import progress_of
from gateway.connectors.codebase.known_projects import KnownProject
from gateway.connectors.codebase.progress import IndexStatus, Progress
from gateway.dispatch.progress import listener
from gateway.threads.bridge import run_sync

LOOK_SECONDS = 0.25
_WAITED_FOR = (IndexStatus.NOT_STARTED, IndexStatus.IN_PROGRESS)


async def progress_until(project: KnownProject, ends_at: float) -> Progress:
    """The progress as soon as the index is complete or has failed, or at `ends_at` (time.monotonic())."""
    report, reported = listener.get(), ""
    progress = await run_sync(progress_of, project)
    while progress.status in _WAITED_FOR and time.monotonic() + LOOK_SECONDS < ends_at:
        sentence = _sentence(progress)
        if report and sentence != reported:
            report(progress.percent, 100, sentence)
            reported = sentence
        await asyncio.sleep(LOOK_SECONDS)
        progress = await run_sync(progress_of, project)
    return progress


def _sentence(progress: Progress) -> str:
    """ "Reading files: 500 of 671, 54 %"."""
    if not progress.total_files:
        return progress.activity
    return f"{progress.activity}: {progress.processed_files:,} of {progress.total_files:,}, {progress.percent} %"
