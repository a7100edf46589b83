"""MCP servers in the admin: their addresses, and how they know who calls."""

from __future__ import annotations

from django.contrib import admin

from gateway.connectors.mcp_servers.models import McpServer, ToolList
from gateway.upstreams.admin import AUTHENTICATION, CredentialAdmin
from gateway.upstreams.connections import OF_SOME_KINDS
from gateway.upstreams.forms import CredentialForm


class McpServerForm(CredentialForm):
    class Meta:
        model = McpServer
        fields = ("name", "url", "enabled", "authentication", *sorted(OF_SOME_KINDS))


@admin.register(McpServer)
class McpServerAdmin(CredentialAdmin):
    form = McpServerForm
    list_display = ("name", "url", "authentication", "enabled", "tools")
    list_filter = ("enabled",)
    search_fields = ("name", "url")
    readonly_fields = ("created_at", "secret_state")
    fieldsets = ((None, {"fields": ("name", "url", "enabled", "created_at")}), AUTHENTICATION)

    @admin.display(description="Tools")
    def tools(self, server: McpServer) -> str:
        found = ToolList.objects.filter(server=server.name).first()
        return str(len(found.tools)) if found else "not asked yet"
