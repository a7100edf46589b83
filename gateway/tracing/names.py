"""The names of OpenTelemetry's semantic conventions for MCP, which are in development, and Sluice's own.

The conventions: github.com/open-telemetry/semantic-conventions-genai, as of November 2026. If they rename an attribute,
change it here only.
"""

# -- Attributes of the conventions
METHOD = "mcp.method.name"
PROTOCOL_VERSION = "mcp.protocol.version"
SESSION_ID = "mcp.session.id"
TOOL = "gen_ai.tool.name"
OPERATION_NAME = "gen_ai.operation.name"
ERROR_TYPE = "error.type"
NETWORK_TRANSPORT = "network.transport"
NETWORK_PROTOCOL = "network.protocol.name"
HTTP_METHOD = "http.request.method"
HTTP_ROUTE = "http.route"
HTTP_STATUS = "http.response.status_code"

EXECUTE_TOOL = "execute_tool"  # a value of OPERATION_NAME
TOOL_ERROR = "tool_error"  # a value of ERROR_TYPE
OTHER = "_OTHER"  # stands for values that clients choose

# -- Metrics of the conventions
OPERATION_DURATION = "mcp.server.operation.duration"  # seconds

# -- Sluice's own
FETCH = "sluice.fetch"  # a span: from the connector's call to its data
PROTECT = "sluice.protect"  # a span: from the data to an answer within its budget
REQUEST_ID = "sluice.request_id"
CONNECTOR_KIND = "sluice.kind"
OUTCOME = "sluice.outcome"
ORIGINAL_TOKENS = "sluice.original_tokens"
RESULT_TOKENS = "sluice.result_tokens"
OVERSIZED = "sluice.oversized"

# The first revision of MCP without sessions. Spans of this and later revisions must not have SESSION_ID.
FIRST_WITHOUT_SESSIONS = "2026-07-28"
