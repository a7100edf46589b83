"""The switches of single tools, as connectors keep them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """A tool that can be switched on and off by itself. `tool`: its name as clients have it. `tokens`: of its
    definition when it was last read. `page`: where it is switched, for those who have the permission `needs`."""

    tool: str
    reads: bool
    tokens: int
    page: str
    needs: str
