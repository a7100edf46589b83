"""The MCP server: one SDK `Server` behind every transport."""

from copy import copy
from typing import Any

from mcp.server import NotificationOptions, Server
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.models import InitializationOptions

from gateway.mcp.changes import Changes
from gateway.mcp.completion import completion_handlers
from gateway.mcp.peers import Peer
from gateway.mcp.prompts import prompt_handlers
from gateway.mcp.resources import resource_handlers
from gateway.mcp.tools import tool_handlers
from gateway.version import VERSION

# Clients may cache these lists. They may not cache a resource: a changed budget applies to the very next answer.
CACHED: tuple[CacheableMethod, ...] = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
INSTRUCTIONS = (
    "Answers are kept small and nothing in them is lost. Ask instead of paging: where chooses rows, aggregate gives "
    "counts, sums, averages, percentiles by group or month (groupBy, metrics, orderBy, limit). An answer that was made "
    "smaller carries meta.resultHandle; what is stored costs no tokens: result_query runs SQL over all rows of a list "
    "(joins, dates, ranks), result_search finds text in a list, record or log, result_get reads a part. "
    "A list comes in pages: call again with cursor=nextCursor until there is none. A large record comes as a preview: "
    "meta.detailsAvailable names the call for the whole (fields=all) and its sections (fields=<section>). A long text "
    "comes in chunks, by cursor or by startLine/endLine. Where search_tools is listed, most tools are not: it finds "
    "them by what they do, describe_tool shows their arguments, and call_tool calls them, those named here too. A tool "
    "and arguments that an answer names are called just as they stand. Secrets (codes, passwords) are withheld; an "
    "operator can reveal a field to an API key."
)


class SluiceServer(Server[Any]):
    """Announces that its tool list can change, by default: the SDK's Streamable HTTP manager passes no options."""

    announces = True  # whether the tool list can change

    def silent(self) -> "SluiceServer":
        """The same server for transports that cannot notify a client between its requests."""
        server = copy(self)
        server.announces = False
        return server

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        options = notification_options or NotificationOptions(tools_changed=self.announces)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def build_server(stdio_peer: Peer | None = None, changes: Changes | None = None) -> SluiceServer:
    """`stdio_peer`: the caller if the transport carries no credentials. `changes` notifies clients of a changed tool
    list."""
    server = SluiceServer(
        "sluice",
        title="Sluice",
        version=VERSION,
        instructions=INSTRUCTIONS,
        cache_hints=dict.fromkeys(CACHED, CacheHint(ttl_ms=5000, scope="private")),
        **tool_handlers(stdio_peer),
        **resource_handlers(stdio_peer),
        **prompt_handlers(stdio_peer),
        **completion_handlers(stdio_peer),
    )
    if changes is not None:
        changes.register(server)
    return server
