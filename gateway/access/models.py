"""API keys (stored as hashes, shown once), and the tools that they reach, also by former names."""

from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.models import ProtectedError
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils import timezone
from simple_history.models import HistoricalRecords

from gateway.access.keys import digest, new_key, prefix
from gateway.access.tool_switch import ToolSwitch
from telemetry import wording
from telemetry.states import State

SOON = timedelta(days=7)  # a key that ends within this time "expires soon"
ROTATION = timedelta(hours=24)  # how long the old secret of a rotated key still works


_NOT_REVOKED = models.Q(revoked_at=None)


def _can_call(now: datetime) -> models.Q:
    return _NOT_REVOKED & (models.Q(expires_at=None) | models.Q(expires_at__gt=now))


class ApiKeyManager(models.Manager["ApiKey"]):
    def issue(self, name: str, **fields: Any) -> tuple["ApiKey", str]:
        """Returns the new key and its secret, which cannot be retrieved later."""
        secret = new_key()
        self.release(name)
        return self.create(name=name, digest=digest(secret), prefix=prefix(secret), **fields), secret

    def valid(self, now: datetime) -> models.QuerySet["ApiKey"]:
        """The keys that can call."""
        return self.filter(_can_call(now))

    def counts(self, now: datetime) -> dict[str, int]:
        """How many keys are `valid`, `not_revoked` and `revoked`, in one query."""
        wanted = {"valid": _can_call(now), "not_revoked": _NOT_REVOKED, "revoked": ~_NOT_REVOKED}
        return self.aggregate(**{name: models.Count("pk", filter=keys) for name, keys in wanted.items()})

    def release(self, name: str) -> None:
        """Renames a revoked key of this name, so that a new key can have it."""
        for key in self.filter(name=name).exclude(revoked_at=None):
            key.name = f"{name[:60]} (revoked, key {key.pk})"
            key.save(update_fields=["name"])


class ToolSet(models.Model):
    """A named set of tools. A key that has tool sets sees only the tools in them, and its chosen ones."""

    name = models.CharField(max_length=100, unique=True, help_text="A name that says what the tools are for.")
    tools = models.JSONField(blank=True, default=list)

    history = HistoricalRecords()

    class Meta:
        ordering = ("name",)
        verbose_name = "tool set"

    def __str__(self) -> str:
        return self.name

    @property
    def used_by(self) -> "list[ApiKey]":
        """The keys that have this set and are not revoked. Queries the database."""
        return list(self.apikey_set.filter(revoked_at=None))

    @property
    def stays_because(self) -> str:
        """Why the set cannot be deleted ("" if it can): a key that loses its last set might see all tools."""
        names = ", ".join(key.name for key in self.used_by)
        return f"Keys use it: {names}. Remove it there first: a key without a set may see all tools." if names else ""


@receiver(pre_delete, sender=ToolSet)
def keep_set_in_use(instance: ToolSet, **_: Any) -> None:
    """Raises ProtectedError for a set in use, wherever it is deleted: in the admin, by a rollback or in a shell."""
    if reason := instance.stays_because:
        raise ProtectedError(f"The tool set {instance.name} cannot be deleted. {reason}", set(instance.used_by))


class ConnectorSwitch(ToolSwitch):
    """Whether a connector's tools exist. Every connector that can be switched has a row."""

    switched_by = "is_on"
    unique_by = ("connector",)

    connector = models.CharField(max_length=100, unique=True, editable=False)
    is_on = models.BooleanField("on", default=True, help_text="Off: its tools do not exist, for any key.")

    history = HistoricalRecords()

    class Meta:
        ordering = ("connector",)
        verbose_name = "connector"

    def __str__(self) -> str:
        return self.connector


class FormerToolName(models.Model):
    """The old name of a tool whose upstream was renamed. Until `until`, it reaches the tool now named `current`."""

    former = models.CharField(max_length=64, primary_key=True)
    current = models.CharField(max_length=64)
    until = models.DateTimeField()

    class Meta:
        ordering = ("former",)

    def __str__(self) -> str:
        return f"{self.former}: {self.current}"


class ApiKey(models.Model):
    class ToolListing(models.TextChoices):
        AUTOMATIC = "", "Automatic: all tools while they fit TOOL_LIST_BUDGET, else search"
        ALL = "all", "All tools"
        SEARCH = "search", "Search: search_tools, describe_tool, call_tool, and pinned tools"

    name = models.CharField(max_length=100, unique=True, help_text="The name of the key's user, shown in telemetry.")
    prefix = models.CharField(max_length=20, editable=False, help_text="The first characters, to recognise the key.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    owner = models.CharField(
        max_length=100, blank=True, default="", db_default="", help_text="The person or team to ask about it."
    )
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    tool_listing = models.CharField(
        max_length=10,
        blank=True,
        default="",
        choices=ToolListing,
        help_text="The tools that a client of this key gets over MCP.",
    )
    tool_sets = models.ManyToManyField(
        ToolSet, blank=True, help_text="The key sees only the tools of these sets, and the chosen ones."
    )
    allowed_tools = models.JSONField("chosen tools", blank=True, default=list)
    reads_only = models.BooleanField(
        "only tools that read",
        default=False,
        db_default=False,
        help_text="Tools that change something do not exist for this key, also those that are connected later.",
    )
    daily_tokens = models.PositiveIntegerField(
        "quota, tokens a day",
        null=True,
        blank=True,
        help_text="As Claude counts them. Further calls fail until midnight UTC. Empty or 0: no quota.",
    )
    pinned_tools = models.JSONField(blank=True, default=list)
    hidden_tools = models.JSONField(blank=True, default=list)
    reveal = models.JSONField(
        "revealed fields", blank=True, default=list, help_text="Names of secret fields that this key sees in clear."
    )

    reads_all_projects = models.BooleanField(
        "all projects", default=False, db_default=False, help_text="Also those that are registered later."
    )
    projects = models.JSONField(blank=True, default=list)  # names of projects

    may_read_telemetry = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether GET /api/v1/telemetry/… shows this key the calls of all keys.",
    )
    may_read_configuration = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether GET /api/v1/config and POST /api/v1/config/validate answer this key.",
    )

    # The secret before the last rotation, until it expires.
    previous_digest = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    previous_prefix = models.CharField(max_length=20, blank=True, default="", db_default="", editable=False)
    previous_until = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiKeyManager()
    history = HistoricalRecords(excluded_fields=["digest", "previous_digest"])
    unique_by = ("name",)
    not_in_history = "secret"

    class Meta:
        ordering = ("name",)
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.name

    def state(self, now: datetime) -> tuple[State, str]:
        """How the key stands, and the words for it. Times in them are in the current time zone."""
        if self.revoked_at is not None:
            return State.NO_DATA, f"revoked {wording.minute(self.revoked_at)}"
        if self.expires_at is not None and self.expires_at <= now:
            return State.DOWN, "expired"
        if self.expires_at is not None and self.expires_at <= now + SOON:
            return State.DEGRADED, "expires soon"
        if until := self.old_secret_until(now):
            return State.OK, f"active; the old secret too until {wording.minute(until)}"
        return State.OK, "active"

    def old_secret_until(self, now: datetime) -> datetime | None:
        """The time until which the secret from before the last rotation still works. None: it does not."""
        return self.previous_until if self.previous_until is not None and self.previous_until > now else None

    def revoke(self) -> None:
        self.revoked_at = timezone.now()
        self.save(update_fields=["revoked_at"])

    def rotate(self) -> str:
        """Returns a new secret. The previous secret works for ROTATION longer; an older one stops working now."""
        secret = new_key()
        self.previous_digest, self.previous_prefix = self.digest, self.prefix
        self.previous_until = timezone.now() + ROTATION
        self.digest, self.prefix = digest(secret), prefix(secret)
        self.save()
        return secret
