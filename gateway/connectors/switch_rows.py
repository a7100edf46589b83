"""The switches of single tools, as connectors keep them."""

from dataclasses import dataclass

from gateway.access.tool_switch import ToolSwitch


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """A tool that can be switched on and off by itself. `tool`: its name as clients have it. `tokens`: of its
    definition when it was last read. `row`: where its switch is stored. `has_effect`: not while all tools of its API or
    server are off."""

    tool: str
    reads: bool
    tokens: int
    row: ToolSwitch
    has_effect: bool = True
