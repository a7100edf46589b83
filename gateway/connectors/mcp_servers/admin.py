"""MCP servers in the admin: their addresses, how Sluice authenticates itself, and their tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.formats import localize
from django.utils.html import format_html
from django.utils.timezone import localtime

from context_protection.history import HistoryAdmin
from gateway.connectors.mcp_servers import registry
from gateway.connectors.mcp_servers.models import McpServer, McpTool, ToolList
from gateway.connectors.reachability import Reachability
from gateway.connectors.tool_switches import ToolSwitchForm
from gateway.connectors.upstream_admin import UpstreamAdmin
from gateway.upstreams.admin import AUTHENTICATION, CredentialForm
from gateway.upstreams.connections import KIND_FIELDS
from gateway.upstreams.models import WithCredential
from telemetry.wording import plural

SERVERS_PAGE = {
    "title": "MCP servers",
    "when_empty": "No MCP server is added here yet. Servers in the file MCP_SERVERS_FILE are not listed here. Their "
    "tools are listed under Tools of MCP servers.",
}
TOOLS_PAGE = {
    "title": "Tools of MCP servers",
    "when_empty": "No server has listed its tools yet. Add one under MCP servers, or in the file MCP_SERVERS_FILE.",
}


class McpServerForm(CredentialForm):
    class Meta:
        model = McpServer
        fields = ("name", "url", "enabled", "authentication", *sorted(KIND_FIELDS))


@admin.register(McpServer)
class McpServerAdmin(UpstreamAdmin):
    form = McpServerForm
    change_form_template = "admin/mcp_servers/mcp_server.html"
    list_display = ("name", "tools", "state", "enabled", "url", "authentication")
    list_filter = ("enabled",)
    search_fields = ("name", "url")
    readonly_fields = ("created_at", "secret_state", "tools", "state", "answered_at")
    fieldsets = (
        (None, {"fields": ("name", "url", "enabled", "created_at")}),
        AUTHENTICATION,
        ("What it offers", {"fields": ("tools", "state", "answered_at")}),
    )

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, {**SERVERS_PAGE, **(extra_context or {})})
        return response

    def get_fieldsets(self, request: HttpRequest, obj: WithCredential | None = None) -> Any:
        """Hides the tools and the creation time while a server is not saved."""
        (title, own), *others = super().get_fieldsets(request, obj)
        if obj is not None:
            return [(title, own), *others]
        return [(title, {**own, "fields": [name for name in own["fields"] if name != "created_at"]}), *others[:-1]]

    def renamed_tools(self, row: WithCredential, name: str) -> Mapping[str, str]:
        if name == row.name:
            return {}
        found = ToolList.objects.filter(server=row.name).first()
        own = [str(tool.get("name", "")) for tool in found.tools] if found else []
        before, after = (registry.names_of(each, own, instead_of=row.name) for each in (row.name, name))
        return dict(zip(before, after, strict=True))

    def test_connection(self, request: HttpRequest, row: McpServer) -> Reachability:
        from gateway.connectors.mcp_servers.reachability import try_server  # the SDK takes a second to import

        return async_to_sync(try_server)(row.address())

    @admin.display(description="Tools")
    def tools(self, server: McpServer) -> str:
        found = _list_of(server)
        if found is None:
            return "0"
        on = McpTool.objects.filter(server=server.name, enabled=True, is_gone=False).count()
        return f"{on:,} on, of {len(found.tools):,}"

    @admin.display(description="State")
    def state(self, server: McpServer) -> str:
        found = _list_of(server)
        if not server.enabled or found is None:
            return "Sluice connects to it within seconds." if server.enabled else "It is switched off."
        return found.failure or "It has answered."

    @admin.display(description="State since")
    def answered_at(self, server: McpServer) -> str | None:
        found = _list_of(server)
        return localize(localtime(found.changed_at)) if found else None


def _list_of(server: McpServer) -> ToolList | None:
    return ToolList.objects.filter(server=server.name).first()


class ToolRow(ToolSwitchForm):
    """A row of the list. Its checkbox has no visible label, so it gets an aria-label."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.fields["enabled"].widget.attrs["aria-label"] = f"{self.instance}: on"


@admin.register(McpTool)
class McpToolAdmin(HistoryAdmin):
    """The tools of all servers, including those in MCP_SERVERS_FILE."""

    list_display = ("tool", "enabled", "reads", "tokens", "server", "state")
    list_editable = ("enabled",)
    list_filter = ("server", "enabled", "reads_only", "is_gone")
    list_per_page = 100
    search_fields = ("name", "server", "description")
    actions = ("switch_on", "switch_off")
    form = ToolSwitchForm
    change_list_template = "admin/tool_switches.html"
    change_form_template = "admin/tool_switch.html"
    readonly_fields = ("server", "name", "description", "reads", "tokens", "state")
    fields = ("server", "name", "enabled", "description", "reads", "tokens", "state")

    class Media:
        css = {"all": ("mcp_servers/tools.css",)}

    def changelist_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().changelist_view(request, extra_context=TOOLS_PAGE)
        return response

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, **{"form": ToolRow, **kwargs})

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Tools come from servers only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A tool is switched off instead."""
        return False

    def save_model(self, request: HttpRequest, obj: McpTool, form: ModelForm[McpTool], change: bool) -> None:
        obj.is_chosen = obj.is_chosen or "enabled" in form.changed_data
        super().save_model(request, obj, form, change)

    @admin.action(description="Switch on", permissions=["change"])
    def switch_on(self, request: HttpRequest, tools: QuerySet[McpTool]) -> None:
        self._switch(request, tools, enabled=True)

    @admin.action(description="Switch off", permissions=["change"])
    def switch_off(self, request: HttpRequest, tools: QuerySet[McpTool]) -> None:
        self._switch(request, tools, enabled=False)

    def _switch(self, request: HttpRequest, tools: QuerySet[McpTool], *, enabled: bool) -> None:
        chosen = list(tools)  # the page's own filter may no longer match them afterwards
        for tool in chosen:
            if tool.enabled != enabled or not tool.is_chosen:
                tool.switch(is_on=enabled)
                tool.save()
        are = "is" if len(chosen) == 1 else "are"
        self.message_user(request, f"{plural(len(chosen), 'tool')} {are} {'on' if enabled else 'off'} from now on.")

    @admin.display(description="Reads or acts", ordering="reads_only")
    def reads(self, tool: McpTool) -> str:
        return "reads" if tool.reads_only else "may act"

    @admin.display(description="Name", ordering="name")
    def tool(self, tool: McpTool) -> str:
        """The name, and below it the description, which would be off-screen in a column of its own."""
        description = "" if tool.description == tool.name else tool.description
        description = description if len(description) <= 160 else f"{description[:159]}…"
        return format_html('{} <span class="tool-description">{}</span>', tool.name, description)

    @admin.display(description="State")
    def state(self, tool: McpTool) -> str:
        if tool.is_gone:
            return "gone from the server"
        if tool.is_chosen:
            return "switched on" if tool.enabled else "switched off"
        return "on at first" if tool.enabled else "off at first"
