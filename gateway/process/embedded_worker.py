"""Celery's worker and beat inside the web process: the embedded default, without a broker."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from celery.beat import EmbeddedService
from celery.worker import WorkController

from gateway.process.reporter import reporter

START_SECONDS = 10


@contextmanager
def worker_and_beat(app: Celery) -> Iterator[None]:
    """Runs both in threads. On exit, lets running tasks finish."""
    os.environ["CELERY_SKIP_CHECKS"] = "true"  # as in serve.py: Django's checks would load every page
    ready = threading.Event()
    worker = WorkController(
        app=app,
        pool="threads",
        concurrency=2,
        ready_callback=lambda consumer: ready.set(),
        without_heartbeat=True,
        without_mingle=True,
        without_gossip=True,
    )
    beat = EmbeddedService(app, thread=True, scheduler_cls="celery.beat:Scheduler")  # in memory: no schedule file
    thread = threading.Thread(target=worker.start, name="celery-worker", daemon=True)
    thread.start()
    if not ready.wait(START_SECONDS):
        raise RuntimeError(f"The worker has not started within {START_SECONDS} seconds.")
    beat.start()
    try:
        yield
    finally:
        beat.service.stop()
        worker.stop()
        thread.join(15)
        reporter.stop()  # task_processes.py has started it
