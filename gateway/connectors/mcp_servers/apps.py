from django.apps import AppConfig


class McpServersConfig(AppConfig):
    name = "gateway.connectors.mcp_servers"
    verbose_name = "MCP servers"
