"""Servers that ops add by their address, with Sluice's credentials for them, and the last tool list of each server."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import models
from simple_history.models import HistoricalRecords

from context_protection.configuration.revisions import bump_when_changed
from gateway.access.tool_switch import ToolSwitch
from gateway.connectors.mcp_servers.configuration import NAME, HttpServer, from_file, last_valid
from gateway.upstreams.connections import Connection, Problem, address_problem, authentication_problems
from gateway.upstreams.models import KIND_LABELS, WithCredential

LONGEST_TOOL_NAME = 500  # characters; a tool with a longer name has no row, so that it cannot be switched on or off


class McpServer(WithCredential):
    """Commands cannot be set here, as anyone who can log in could run them."""

    name = models.SlugField(
        max_length=32,
        unique=True,
        help_text="The names of its tools begin with it: files turns a tool search into files_search.",
    )
    url = models.CharField(  # not URLField, which rejects the short host names of private networks
        "address",
        max_length=500,
        help_text="The address of its Streamable HTTP endpoint, such as https://example.com/mcp.",
    )
    enabled = models.BooleanField(default=True, help_text="Off: its tools are not offered, and nothing is sent to it.")
    created_at = models.DateTimeField(auto_now_add=True)

    history = HistoricalRecords(excluded_fields=["sealed_secret"])

    class Meta:
        ordering = ("name",)
        verbose_name = "MCP server"

    def __str__(self) -> str:
        return self.name

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Deletes a tool list that is stored under this name for another server or another address. A renamed server
        keeps its tool list."""
        before = McpServer.objects.filter(pk=self.pk).values_list("name", "url").first()
        super().save(*args, **kwargs)
        if before == (self.name, self.url):
            return
        for model in (ToolList, McpTool):
            model.objects.filter(server=self.name).delete()
            if before is not None and before[1] == self.url:
                model.objects.filter(server=before[0]).update(server=self.name)

    @property
    def parts(self) -> tuple[tuple[type[models.Model], dict[str, str]], ...]:
        """The rows that are deleted with it, and that a rollback creates again: their model, and what their fields
        have."""
        return ((McpTool, {"server": self.name}),)

    def address(self) -> HttpServer:
        return HttpServer(self.name, self.url, connection=self.connection())

    def connection(self) -> Connection:
        return Connection(name=self.name, base_url=self.url, **self.credential())

    def clean(self) -> None:
        """Rejects invalid settings, and a secret that would be sent to an address other than the one it was entered
        for."""
        found: dict[str, list[str]] = {}
        for field, sentence in self._problems():
            found.setdefault(field, []).append(sentence)
        if found:
            raise ValidationError(found)

    def _problems(self) -> Iterator[Problem]:
        # Empty fields already have an error.
        if self.name and not NAME.fullmatch(self.name):
            yield "name", "Use 1 to 32 lower-case letters, digits, _ and -."
        elif _was_in_file(self.name):
            yield "name", "The servers' file (MCP_SERVERS_FILE) already has a server with this name."
        if self.url and (problem := address_problem(self.url)):
            yield "url", problem
        if self.authentication not in KIND_LABELS:
            return  # already reported at its field
        self.empty_what_does_not_apply()
        connection = self.connection()
        yield from authentication_problems(connection)
        yield from self.secret_problems(connection)


class ToolList(models.Model):
    """A server's last tools/list result, offered even while the server is unavailable. `failure`: a sentence on why the
    latest request failed, or which of the tools cannot be offered; empty if there is no such problem."""

    server = models.CharField(max_length=32, primary_key=True)
    tools: "models.JSONField[list[dict[str, Any]]]" = models.JSONField(default=list)
    failure = models.TextField(default="", db_default="")
    changed_at = models.DateTimeField(auto_now=True)
    # Whether all tools are on at first, as for servers that were added before tools had to be switched on.
    all_on = models.BooleanField(default=False, db_default=False, editable=False)

    class Meta:
        ordering = ("server",)

    def __str__(self) -> str:
        return self.server


class McpTool(ToolSwitch):
    """A tool that a server lists. `is_chosen`: ops staff have switched it on or off, so that defaults no longer
    apply."""

    unique_by = ("server", "name")

    server = models.CharField(max_length=32)
    name = models.CharField(max_length=LONGEST_TOOL_NAME, editable=False)
    enabled = models.BooleanField("on", help_text="Off: it is not offered, and cannot be called.")
    is_chosen = models.BooleanField(default=False, editable=False)
    description = models.TextField(default="", editable=False)
    tokens = models.PositiveIntegerField(default=0, editable=False)
    reads_only = models.BooleanField(default=False, editable=False)
    is_gone = models.BooleanField(default=False, editable=False)  # the server no longer lists it

    history = HistoricalRecords(excluded_fields=["description", "tokens", "reads_only", "is_gone"])

    class Meta:
        ordering = ("server", "name")
        verbose_name = "tool of an MCP server"
        verbose_name_plural = "tools of MCP servers"
        constraints = [models.UniqueConstraint(fields=("server", "name"), name="one_row_a_tool")]

    def __str__(self) -> str:
        return f"{self.server}: {self.name}"

    @property
    def missing_server(self) -> str:
        """The name of its server, if neither the admin nor the file has that; "" otherwise."""
        is_there = may_be_in_file(self.server) or McpServer.objects.filter(name=self.server).exists()
        return "" if is_there else self.server

    def switch(self, *, is_on: bool) -> None:
        super().switch(is_on=is_on)
        self.is_chosen = True


def _was_in_file(name: str) -> bool:
    """Whether the last valid content of the servers' file has a server of this name."""
    try:
        return any(server.name == name for server in last_valid(settings.MCP_SERVERS_FILE))
    except ImproperlyConfigured:
        return False


def may_be_in_file(name: str) -> bool:
    """Whether the servers' file has a server of this name, or cannot be read."""
    try:
        return any(server.name == name for server in from_file(settings.MCP_SERVERS_FILE))
    except ImproperlyConfigured:
        return True


bump_when_changed(McpServer)
bump_when_changed(McpTool)
bump_when_changed(ToolList)
