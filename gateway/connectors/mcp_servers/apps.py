from django.apps import AppConfig


class McpServersConfig(AppConfig):
    name = "gateway.connectors.mcp_servers"
    verbose_name = "MCP servers"

    def ready(self) -> None:
        from gateway.connectors.mcp_servers import removal  # noqa: F401 — connects its receiver
