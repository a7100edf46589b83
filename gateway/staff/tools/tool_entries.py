"""Every tool, on or off, with the stored row that switches it: its own, or its connector's."""

from collections.abc import Iterator
from dataclasses import dataclass

from context_protection.core.policy import Kind
from gateway.access.models import ConnectorSwitch
from gateway.access.tool_switch import ToolSwitch
from gateway.catalog.catalog import catalogue
from gateway.catalog.definition_size import definition_tokens
from gateway.connectors import connectors
from gateway.mcp.tools import all_definition_tokens


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """`tokens`: of the definition. `switch`: the row that switches it; None if none does. `has_effect`: whether the
    switch changes the list now. It does not while the tool's API or server is off."""

    name: str
    connector: str
    reads: bool
    tokens: int
    is_on: bool
    switch: ToolSwitch | None = None
    has_effect: bool = True

    @property
    def words(self) -> str:
        """The text that a filter searches."""
        return f"{self.name} {self.connector} {self.kind} {self.state}".lower()

    @property
    def kind(self) -> str:
        return "reads" if self.reads else "writes"

    @property
    def state(self) -> str:
        return "on" if self.is_on else "off"

    @property
    def own_switch(self) -> ToolSwitch | None:
        """The row that switches only this tool."""
        return None if isinstance(self.switch, ConnectorSwitch) else self.switch


def tool_entries() -> Iterator[ToolEntry]:
    """All tools except the gateway's search tools, which clients get only in place of the full list. Queries the
    database. Raises StoreUnavailable."""
    switches = {row.tool: (connector.name, row) for connector in connectors() for row in connector.switches()}
    of_connectors = {each.connector: each for each in ConnectorSwitch.objects.all()}
    listed = all_definition_tokens()
    on = [each for each in catalogue if each.name in listed]
    off = [each for each in catalogue.switched_off if each.listed and each.name not in listed]
    for operation in (*on, *off):
        connector = catalogue.connector_of(operation.name)
        _, own = switches.pop(operation.name, ("", None))
        yield ToolEntry(
            operation.name,
            connector,
            operation.kind is not Kind.ACTION,
            listed.get(operation.name) or definition_tokens(operation),
            operation.name in listed,
            own.row if own else of_connectors.get(connector),
        )
    for connector, row in switches.values():
        yield ToolEntry(row.tool, connector, row.reads, row.tokens, False, row.row, row.has_effect)
