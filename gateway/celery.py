"""The Celery application. Tasks are idempotent: losing one or running it twice does no harm."""

import os

from celery import Celery
from celery.signals import beat_init, worker_ready

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

app = Celery("sluice")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@worker_ready.connect  # type: ignore[untyped-decorator]
def report_worker(**_: object) -> None:
    _report("worker")


@beat_init.connect  # type: ignore[untyped-decorator]
def report_beat(**_: object) -> None:
    _report("beat")


def _report(kind: str) -> None:
    from gateway.process.reporter import reporter
    from telemetry.models import ProcessReport

    reporter.start(ProcessReport.ProcessKind(kind))
