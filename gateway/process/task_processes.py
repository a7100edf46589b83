"""Lets Celery's worker and beat report on themselves, as web processes do. Celery loads this through CELERY_IMPORTS."""

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
    announcements.start()  # tasks and calls share breakers
    reporter.start(kind)
