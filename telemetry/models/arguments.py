"""The arguments of calls, masked before they are stored."""

from django.db import models


class CallArguments(models.Model):
    """The arguments of a failed call, or of a successful call of a KeptTool. A TelemetryRecord has the names of its
    call's arguments in any case."""

    request_id = models.CharField("request id", max_length=64)
    at = models.DateTimeField("time", db_index=True)
    expires_at = models.DateTimeField("expires", db_index=True)
    operation = models.CharField(max_length=100)
    caller = models.CharField(max_length=100, db_index=True)
    names = models.JSONField(default=list, help_text="The names of the arguments.")
    values = models.JSONField(null=True, help_text="The masked values by name; empty if they are not stored.")
    hidden = models.JSONField(default=list, help_text="Each masked value: its name, length in characters and rule.")
    answer = models.TextField(blank=True, help_text="The error that the client got.")

    class Meta:
        verbose_name_plural = "call arguments"
        ordering = ("-at",)
        permissions = (
            ("replay_call", "Can replay a recorded call"),
            ("run_writing_tool", "Can run a tool that changes data, in the playground"),
        )
        # Clients may choose ids, so several calls can have the same. `at` is exactly the call's time.
        constraints = (models.UniqueConstraint(fields=("request_id", "at"), name="telemetry_arguments_of_one_call"),)

    def __str__(self) -> str:
        return f"{self.operation} {self.request_id}"


class KeptTool(models.Model):
    """A tool whose masked arguments are stored for successful calls too."""

    ALL = ""

    operation = models.CharField("tool", max_length=100, unique=True, blank=True, help_text="Empty: all tools.")
    changed_at = models.DateTimeField("changed", auto_now=True)

    class Meta:
        verbose_name = "tool with kept arguments"
        verbose_name_plural = "tools with kept arguments"
        ordering = ("operation",)

    def __str__(self) -> str:
        return self.operation or "All tools"
