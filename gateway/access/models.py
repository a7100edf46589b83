"""API keys: stored as hashes, shown once."""

from typing import Any

from django.db import models
from django.utils import timezone
from simple_history.models import HistoricalRecords

from gateway.access.keys import digest, new_key, prefix


class ApiKeyManager(models.Manager["ApiKey"]):
    def issue(self, name: str, **fields: Any) -> tuple["ApiKey", str]:
        """The new key and its secret, which is not available later."""
        secret = new_key()
        return self.create(name=name, digest=digest(secret), prefix=prefix(secret), **fields), secret


class ApiKey(models.Model):
    class Listing(models.TextChoices):
        AUTOMATIC = "", "Automatic: all tools while they fit TOOL_LIST_BUDGET, else search"
        ALL = "all", "All tools"
        SEARCH = "search", "Search: search_tools, describe_tool, call_tool, and pinned tools"

    name = models.CharField(max_length=100, unique=True, help_text="Whose key it is; shown in telemetry.")
    prefix = models.CharField(max_length=20, editable=False, help_text="The first characters, to recognise it by.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    tool_listing = models.CharField(
        max_length=10, blank=True, default="", choices=Listing, help_text="What a client of this key is shown over MCP."
    )
    pinned_tools = models.JSONField(blank=True, default=list)
    hidden_tools = models.JSONField(blank=True, default=list)
    reveal = models.JSONField(
        "revealed fields", blank=True, default=list, help_text="Names of secret fields that this key sees in clear."
    )

    objects = ApiKeyManager()
    history = HistoricalRecords(excluded_fields=["digest"])

    class Meta:
        ordering = ("name",)
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.name

    def revoke(self) -> None:
        self.revoked_at = timezone.now()
        self.save(update_fields=["revoked_at"])
