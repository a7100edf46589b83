"""Celery's worker and beat report that they live, as web processes do. Celery loads this by CELERY_IMPORTS."""

from celery.signals import beat_init, worker_ready

from context_protection.stores.announcements import announcements
from gateway.process.reporter import reporter
from telemetry.models import ProcessReport


@worker_ready.connect  # type: ignore[untyped-decorator]
def report_worker(**_: object) -> None:
    _report(ProcessReport.ProcessKind.WORKER)


@beat_init.connect  # type: ignore[untyped-decorator]
def report_beat(**_: object) -> None:
    _report(ProcessReport.ProcessKind.BEAT)


def _report(kind: ProcessReport.ProcessKind) -> None:
    announcements.start()  # the breakers of tasks are those of calls
    reporter.start(kind)
