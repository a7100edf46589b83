"""MCP servers in the admin: their addresses, and how Sluice authenticates itself."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from gateway.connectors.mcp_servers.models import McpServer, ToolList
from gateway.upstreams.admin import AUTHENTICATION, CredentialAdmin
from gateway.upstreams.connections import OF_SOME_KINDS
from gateway.upstreams.forms import CredentialForm
from gateway.upstreams.models import WithCredential


class McpServerForm(CredentialForm):
    class Meta:
        model = McpServer
        fields = ("name", "url", "enabled", "authentication", *sorted(OF_SOME_KINDS))


@admin.register(McpServer)
class McpServerAdmin(CredentialAdmin):
    form = McpServerForm
    list_display = ("name", "url", "authentication", "enabled", "tools", "state")
    list_filter = ("enabled",)
    search_fields = ("name", "url")
    readonly_fields = ("created_at", "secret_state", "tools", "state")
    fieldsets = (
        (None, {"fields": ("name", "url", "enabled", "created_at")}),
        AUTHENTICATION,
        ("What it offers", {"fields": ("tools", "state")}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: WithCredential | None = None) -> Any:
        fieldsets = super().get_fieldsets(request, obj)
        return fieldsets if obj else fieldsets[:-1]  # a server that is not saved yet has no tools

    @admin.display(description="Tools")
    def tools(self, server: McpServer) -> int:
        found = _list_of(server)
        return len(found.tools) if found else 0

    @admin.display(description="State")
    def state(self, server: McpServer) -> str:
        found = _list_of(server)
        if not server.enabled or found is None:
            return "It is asked within seconds." if server.enabled else "It is switched off."
        return found.failure or "It has answered."


def _list_of(server: McpServer) -> ToolList | None:
    return ToolList.objects.filter(server=server.name).first()
