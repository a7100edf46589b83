"""The servers of a run: each is started when a row first needs it, and all are stopped at the end."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.table import servers, upstream
from benchmarks.table.servers import BenchServer, PreparedSluice


class Stage(ExitStack):
    """`fastmcp` is an interpreter that has FastMCP, `other` another source tree of Sluice; None if there is none.
    `files`: bodies that the upstream answers besides its own."""

    def __init__(self, fastmcp: Path | None = None, other: Path | None = None, files: Sequence[Path] = ()) -> None:
        super().__init__()
        self._python, self.other, self._files = fastmcp, other, files
        self._running: dict[Any, Any] = {}

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self._running:
            self._running[key] = self.enter_context(make())
        return self._running[key]

    @property
    def has_fastmcp(self) -> bool:
        return self._python is not None

    @property
    def upstream(self) -> str:
        url: str = self._once("upstream", partial(servers.running_upstream, self._files))
        return url

    def _document(self, tools: int = 2) -> dict[str, Any]:
        return upstream.document(self.upstream, tools, len(self._files))

    def prepared(self, tools: int = 2) -> PreparedSluice:
        make = partial(servers.prepared, self._document(tools))
        found: PreparedSluice = self._once(("prepared", tools), make)
        return found

    def sluice(self, *options: str, tools: int = 2) -> BenchServer:
        server: BenchServer = self._once(("sluice", options, tools), partial(self.new_sluice, *options, tools=tools))
        return server

    def other_sluice(self) -> BenchServer:
        assert self.other is not None
        prepared = self._once("other's data", partial(servers.prepared, self._document(), self.other))
        server: BenchServer = self._once("other", partial(servers.sluice, prepared))
        return server

    def new_sluice(self, *options: str, tools: int = 2) -> AbstractContextManager[BenchServer]:
        """A new server, which the caller stops."""
        return servers.sluice(self.prepared(tools), *options)

    def new_sdk(self) -> AbstractContextManager[BenchServer]:
        return servers.sdk(self.upstream)

    @property
    def sdk(self) -> BenchServer:
        server: BenchServer = self._once("sdk", self.new_sdk)
        return server

    @property
    def bare(self) -> BenchServer:
        server: BenchServer = self._once("bare", partial(servers.bare, self.upstream))
        return server

    @property
    def fastmcp(self) -> BenchServer:
        assert self._python is not None
        server: BenchServer = self._once("fastmcp", partial(servers.fastmcp, self._document(), self._python))
        return server
