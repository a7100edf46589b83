"""Events: the marks on every chart."""

from django.db import models


class Event(models.Model):
    """A change of settings, a deployment, a breaker, a flip of the tool list, or an alert. Never changed afterwards."""

    class EventKind(models.TextChoices):
        CHANGE = "C", "Change of settings"
        DEPLOYMENT = "D", "Deployment"
        BREAKER = "B", "Breaker"
        TOOL_LIST = "F", "Tool list"
        ALERT = "A", "Alert"

    OPEN, CLOSED = "open", "closed"  # the states of a breaker

    at = models.DateTimeField("time", db_index=True)
    kind = models.CharField(max_length=1, choices=EventKind.choices)
    subject_type = models.CharField(
        max_length=40, blank=True, help_text="The kind of object: upstream, budget, key, rule …"
    )
    subject = models.CharField(max_length=100, blank=True, help_text="The object's name.")
    summary = models.CharField(max_length=300, help_text="One sentence. Secrets are called changed, never shown.")
    actor = models.CharField(max_length=150, blank=True, help_text="The person or process that made the change.")
    before = models.CharField("old value", max_length=300, blank=True)
    after = models.CharField("new value", max_length=300, blank=True)
    reason = models.CharField(max_length=300, blank=True)
    revision = models.CharField(max_length=32, blank=True, help_text="The revision of the configuration afterwards.")
    link = models.CharField(max_length=300, blank=True, help_text="The page that shows more, as a path.")
    object = models.CharField(
        max_length=150, blank=True, default="", db_default="", help_text="The object that changed: app.model:key."
    )
    differences = models.JSONField(
        blank=True, default=list, db_default=[], help_text="The field, the old and the new value of each difference."
    )

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (models.Index(fields=("subject_type", "subject", "-at"), name="telemetry_event_subject_time"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.summary}"
