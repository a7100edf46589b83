"""The tables of alerts: rules, alerts with their transitions, channels and notifications."""

from datetime import datetime, timedelta

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from telemetry.alert_kinds import KindDeclaration, NoData, Per, RuleKind, Severity, kind_of
from telemetry.alert_states import FIRING, AlertState, Track

LONGEST_SUBJECT = 200


class Channel(models.Model):
    """A way to notify people. Its secret (the signing key of a webhook, the address of a Slack webhook) is stored
    sealed."""

    class ChannelKind(models.TextChoices):
        EMAIL = "email", "Email"
        WEBHOOK = "webhook", "Webhook"
        SLACK = "slack", "Slack format"

    name = models.CharField(max_length=60, unique=True)
    kind = models.CharField(max_length=8, choices=ChannelKind.choices)
    address = models.CharField(
        max_length=500,
        blank=True,
        help_text="Email: addresses, separated by commas. Webhook: where it listens. Slack: empty, as its address is "
        "its secret.",
    )
    sealed_secret = models.TextField(blank=True, editable=False)
    is_enabled = models.BooleanField("enabled", default=True)
    follows_settings = models.BooleanField(default=False, editable=False)  # its addresses are ALERT_EMAILS

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.name}"

    @property
    def recipients(self) -> list[str]:
        """The addresses of an email channel."""
        if self.follows_settings:
            return list(getattr(settings, "ALERT_EMAILS", ()))
        return [each.strip() for each in self.address.split(",") if each.strip()]

    @property
    def can_send(self) -> bool:
        return self.is_enabled and (self.kind != self.ChannelKind.EMAIL or bool(self.recipients))


class AlertRule(models.Model):
    """A condition that beat evaluates. Shares are 0 to 1, times are in seconds."""

    kind = models.CharField(max_length=32, choices=RuleKind.choices, default=RuleKind.ERROR_RATE)
    name = models.CharField(max_length=100, unique=True)
    is_enabled = models.BooleanField("enabled", default=True)
    tools = models.CharField(max_length=500, blank=True)
    connectors = models.CharField(max_length=500, blank=True)
    upstreams = models.CharField(max_length=500, blank=True)
    per = models.CharField("one alert", max_length=8, choices=Per.choices, default=Per.ALL)
    origins = models.CharField(max_length=60, blank=True, default="sluice,upstream")
    limit = models.FloatField(default=0)
    recovery_limit = models.FloatField(default=0)
    limits_by_tool = models.JSONField(default=dict, blank=True)
    minimum = models.PositiveIntegerField("smallest sample", default=0)
    window_seconds = models.PositiveIntegerField(default=300, validators=[MaxValueValidator(86_400)])
    pending_seconds = models.PositiveIntegerField(default=0, validators=[MaxValueValidator(86_400)])
    recovery_seconds = models.PositiveIntegerField(default=0, validators=[MaxValueValidator(86_400)])
    no_data = models.CharField("no calls at all", max_length=8, choices=NoData.choices, default=NoData.SAY)
    runbook = models.CharField(max_length=300, blank=True)
    channels = models.ManyToManyField(Channel, blank=True, related_name="rules")
    shipped_as = models.CharField(max_length=32, null=True, unique=True, editable=False)
    follows_settings = models.BooleanField(default=False, editable=False)  # its limits come from OVERSIZED_ALERT_…
    memory = models.JSONField(default=dict, editable=False)  # the state that an evaluation leaves for the next one
    changed_by = models.CharField(max_length=150, blank=True, editable=False)
    changed_at = models.DateTimeField(default=timezone.now, editable=False)
    checked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = "alert rule"
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    @property
    def declared(self) -> KindDeclaration:
        return kind_of(self.kind)

    @property
    def is_shipped(self) -> bool:
        return self.shipped_as is not None


class AlertQuerySet(models.QuerySet["Alert"]):
    def current(self) -> "AlertQuerySet":
        """Episodes that are not over."""
        return self.filter(ended_at=None)

    def open(self) -> "AlertQuerySet":
        """Episodes that have fired and are not over, whatever their state is now."""
        return self.current().exclude(fired_at=None)


class Alert(models.Model):
    """One episode of a rule for one subject, from the evaluation that left Normal until it is over (O4)."""

    rule = models.ForeignKey(AlertRule, on_delete=models.CASCADE, related_name="alerts")
    subject = models.CharField(max_length=LONGEST_SUBJECT, blank=True, help_text="A tool or upstream; empty: all.")
    state = models.CharField(max_length=10, choices=AlertState.choices, default=AlertState.PENDING)
    since = models.DateTimeField(help_text="When it came into this state.")
    started_at = models.DateTimeField("began")
    fired_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField("last checked")
    value = models.FloatField(null=True, blank=True)
    peak = models.FloatField("highest value", null=True, blank=True)
    limit = models.FloatField(default=0)
    sample = models.PositiveIntegerField(default=0)
    affected = models.PositiveIntegerField(default=0)
    message = models.CharField(max_length=500, help_text="What was seen last.")
    details = models.JSONField(default=dict, blank=True)  # {"tools": [[name, affected, calls]], "calls": query}
    told_at = models.DateTimeField(null=True, blank=True)  # when notifications of the firing were queued
    acknowledged_by = models.CharField(max_length=150, blank=True)
    acknowledged_at = models.DateTimeField(null=True, blank=True)
    note = models.CharField(max_length=300, blank=True)
    silenced_by = models.CharField(max_length=150, blank=True)
    silenced_until = models.DateTimeField(null=True, blank=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        ordering = ("-started_at", "-pk")
        constraints = (
            # Two processes may see the condition at once; only one of them can begin the episode.
            models.UniqueConstraint(
                fields=("rule", "subject"), condition=models.Q(ended_at=None), name="telemetry_one_episode_at_a_time"
            ),
        )
        indexes = (models.Index(fields=("ended_at", "-started_at"), name="telemetry_alert_ended"),)

    def __str__(self) -> str:
        return f"{self.title}, {self.started_at:%Y-%m-%d %H:%M} ({self.get_state_display()})"

    @property
    def title(self) -> str:
        """ "Upstream down: acme"."""
        return f"{self.rule.name}: {self.subject}" if self.subject else self.rule.name

    @property
    def track(self) -> Track:
        return Track(AlertState(self.state), self.since, self.fired_at is not None)

    @property
    def is_firing(self) -> bool:
        return self.state in FIRING

    @property
    def severity(self) -> Severity:
        return self.rule.declared.severity

    @property
    def tools(self) -> list[tuple[str, int, int]]:
        """The affected tools: name, affected calls, calls."""
        return [(name, affected, calls) for name, affected, calls in self.details.get("tools", ())]

    def is_silenced(self, now: datetime) -> bool:
        return self.silenced_until is not None and now < self.silenced_until

    def lasted(self, now: datetime) -> timedelta:
        return (self.ended_at or now) - (self.fired_at or self.started_at)


class AlertTransition(models.Model):
    """One line of an alert's history: a change of state, or what a person did."""

    class What(models.TextChoices):
        STATE = "state", "State"
        ACKNOWLEDGED = "acknowledged", "Acknowledged"
        SILENCED = "silenced", "Silenced"
        UNSILENCED = "unsilenced", "Silence ended"

    alert = models.ForeignKey(Alert, on_delete=models.CASCADE, related_name="transitions")
    at = models.DateTimeField()
    what = models.CharField(max_length=12, choices=What.choices, default=What.STATE)
    before = models.CharField(max_length=10, blank=True, choices=AlertState.choices)
    after = models.CharField(max_length=10, blank=True, choices=AlertState.choices)
    value = models.FloatField(null=True, blank=True)
    limit = models.FloatField(null=True, blank=True)
    message = models.CharField(max_length=500, blank=True)
    by = models.CharField(max_length=150, blank=True)

    class Meta:
        verbose_name = "alert transition"
        ordering = ("at", "pk")

    def __str__(self) -> str:
        return f"{self.alert_id} {self.at:%Y-%m-%d %H:%M:%S} {self.what} {self.after}"


class Notification(models.Model):
    """One message about one transition over one channel. The table is the queue, so a lost task can be restarted."""

    class Delivery(models.TextChoices):
        QUEUED = "queued", "Queued"
        SENT = "sent", "Sent"
        FAILED = "failed", "Failed"
        DROPPED = "dropped", "Not sent"

    transition = models.ForeignKey(AlertTransition, on_delete=models.CASCADE, related_name="notifications")
    channel = models.ForeignKey(Channel, on_delete=models.PROTECT, related_name="notifications")
    state = models.CharField(max_length=8, choices=Delivery.choices, default=Delivery.QUEUED)
    attempts = models.PositiveSmallIntegerField(default=0, validators=[MinValueValidator(0)])
    result = models.CharField(max_length=300, blank=True, help_text="What the channel answered last.")
    queued_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now)
    sent_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("queued_at", "pk")
        constraints = (
            models.UniqueConstraint(fields=("transition", "channel"), name="telemetry_one_message_per_channel"),
        )
        indexes = (models.Index(fields=("state", "due_at"), name="telemetry_due_messages"),)

    def __str__(self) -> str:
        return f"{self.channel_id} {self.transition_id} ({self.state})"
