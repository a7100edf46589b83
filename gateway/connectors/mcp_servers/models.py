"""Servers that ops add by their address, with Sluice's credentials for them, and the last tool list of each server."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from simple_history.models import HistoricalRecords

from context_protection.configuration.revisions import bump_when_changed
from gateway.connectors.mcp_servers.configuration import NAME, from_file
from gateway.upstreams.connections import Connection
from gateway.upstreams.models import IN_WORDS, WithCredential
from gateway.upstreams.rules import Problem, address_problem, authentication_problems


class McpServer(WithCredential):
    """Commands cannot be set here: whoever can log in could run them."""

    name = models.SlugField(
        max_length=32, unique=True, help_text="Its tools are called by it: files makes files_search of a tool search."
    )
    url = models.CharField(  # not URLField, which rejects the short host names of private networks
        "address", max_length=500, help_text="Of its Streamable HTTP endpoint, such as https://example.com/mcp."
    )
    enabled = models.BooleanField(default=True, help_text="Off: its tools are not offered, and it is not asked.")
    created_at = models.DateTimeField(auto_now_add=True)

    history = HistoricalRecords(excluded_fields=["sealed_secret"])

    class Meta:
        ordering = ("name",)
        verbose_name = "MCP server"

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Removes the tool list that another server left under this name, or at another address."""
        before = McpServer.objects.filter(pk=self.pk).values_list("name", "url").first()
        super().save(*args, **kwargs)
        if before != (self.name, self.url):
            ToolList.objects.filter(server=self.name).delete()

    def connection(self) -> Connection:
        return Connection(name=self.name, base_url=self.url, **self.credential())

    def clean(self) -> None:
        """Rejects what cannot work, and a secret that would be sent to an address it was not entered for."""
        found: dict[str, list[str]] = {}
        for field, sentence in self._problems():
            found.setdefault(field, []).append(sentence)
        if found:
            raise ValidationError(found)

    def _problems(self) -> Iterator[Problem]:
        # Empty fields already have an error.
        if self.name and not NAME.fullmatch(self.name):
            yield "name", "Use 1 to 32 lower-case letters, digits, _ and -."
        elif any(server.name == self.name for server in from_file(settings.MCP_SERVERS_FILE)):
            yield "name", "The servers' file (MCP_SERVERS_FILE) has a server of this name already."
        if self.url and (problem := address_problem(self.url)):
            yield "url", problem
        if self.authentication not in IN_WORDS:
            return  # already reported at its field
        self.empty_what_does_not_apply()
        connection = self.connection()
        yield from authentication_problems(connection)
        yield from self.secret_problems(connection)


class ToolList(models.Model):
    """A server's last answer to tools/list, offered also while the server is away. `failure`: a sentence on why the
    latest request failed; empty if it did not."""

    server = models.CharField(max_length=32, primary_key=True)
    tools: "models.JSONField[list[dict[str, Any]]]" = models.JSONField(default=list)
    failure = models.TextField(default="", db_default="")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("server",)

    def __str__(self) -> str:
        return self.server


bump_when_changed(McpServer)
bump_when_changed(ToolList)
