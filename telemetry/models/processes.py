"""The reports of processes about themselves."""

from django.db import models


class ProcessReport(models.Model):
    """One row per process, which the process updates every few seconds. A row that is no longer updated belongs to a
    process that ended or hangs."""

    class ProcessKind(models.TextChoices):
        WEB = "web", "Web"
        WORKER = "worker", "Worker"
        BEAT = "beat", "Beat"

    process = models.UUIDField(primary_key=True)
    kind = models.CharField(max_length=8, choices=ProcessKind.choices)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField("process id")
    started_at = models.DateTimeField("started")
    seen_at = models.DateTimeField("last report", db_index=True)
    version = models.CharField(max_length=40)
    revision = models.CharField(max_length=32, blank=True, help_text="The revision of the configuration it serves.")
    report = models.JSONField(default=dict, help_text="Stores, upstreams, recorder: see telemetry/processes.py.")

    class Meta:
        ordering = ("kind", "host", "pid")

    def __str__(self) -> str:
        return f"{self.kind} {self.host}:{self.pid}"
