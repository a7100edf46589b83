"""The Celery application. Tasks are idempotent: losing one or running it twice does no harm.

Only worker and beat load it, because Celery takes 5 MB. Tasks may start other tasks; web processes start none.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")

app = Celery("sluice")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@app.on_after_finalize.connect  # type: ignore[untyped-decorator] # Django is set up by then
def add_schedules(**_: object) -> None:
    """Adds the periodic tasks of the connectors to those of the settings."""
    from gateway.connectors import connectors

    for connector in connectors():
        app.conf.beat_schedule.update(connector.schedule)
