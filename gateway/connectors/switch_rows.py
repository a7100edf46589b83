"""The switches of individual tools."""

from dataclasses import dataclass

from gateway.access.tool_switch import ToolSwitch


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """A tool that can be switched on and off individually. `tool`: the name that clients see. `reads`: whether it only
    reads. `tokens`: the size of its definition when that was last read. `row`: the model instance that stores the
    switch. `has_effect`: False while all tools of its API or server are off."""

    tool: str
    reads: bool
    tokens: int
    row: ToolSwitch
    has_effect: bool = True
