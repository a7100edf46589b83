"""Other MCP servers as a source of operations: their tools, behind our protection."""

from gateway.connectors.connector import Connector
from gateway.connectors.mcp_servers.known import operations
from gateway.connectors.mcp_servers.refreshing import refreshing

CONNECTOR = Connector(name="mcp_servers", source=operations, start=refreshing.start, stop=refreshing.stop)
