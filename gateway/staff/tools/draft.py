"""A draft of switches: which tools a person wants on or off. The form holds it; nothing is stored before it is
saved."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict

from gateway.access.models import ConnectorSwitch
from gateway.access.tool_switch import ToolSwitch
from gateway.connectors.mcp_servers.models import McpTool
from gateway.connectors.openapi.models import ImportedOperation
from gateway.staff.tools.tool_entries import ToolEntry

ROW, ON = "row", "on"  # the form's fields: each row with its state when the page was made, and what is ticked
SWITCHES: tuple[type[ToolSwitch], ...] = (ConnectorSwitch, ImportedOperation, McpTool)


@dataclass(frozen=True, slots=True)
class SwitchDraft:
    """`seen`: row's key → whether it was on when the draft was begun. `ticked`: the keys of the rows that would be
    on."""

    seen: Mapping[str, bool] = field(default_factory=dict)
    ticked: frozenset[str] = frozenset()

    @classmethod
    def of(cls, posted: QueryDict) -> "SwitchDraft":
        rows = [each.rpartition("=") for each in posted.getlist(ROW)]
        return cls({key: state == "on" for key, _, state in rows}, frozenset(posted.getlist(ON)))

    @property
    def changes(self) -> dict[str, bool]:
        """Row's key → whether it would be on, for the rows that would be switched."""
        return {key: key in self.ticked for key, was_on in self.seen.items() if (key in self.ticked) != was_on}

    def wants(self, switch: ToolSwitch) -> bool:
        return self.changes.get(switch.switch_id, switch.is_switched_on)


@dataclass(frozen=True, slots=True)
class SwitchChange:
    """`title`: the tool or the connector. `tools`: the tools that it switches."""

    title: str
    switch: ToolSwitch
    is_on: bool
    tools: Sequence[ToolEntry]

    @property
    def writes(self) -> list[str]:
        """Its tools that write, if they are switched on."""
        return [tool.name for tool in self.tools if self.is_on and not tool.reads]

    @property
    def permission(self) -> str:
        return self.switch.permission("change")


@dataclass(frozen=True, slots=True)
class SwitchPlan:
    """`overtaken`: a sentence for each change of the draft that another person has made or made impossible since."""

    changes: Sequence[SwitchChange] = ()
    overtaken: Sequence[str] = ()

    @property
    def tools_on(self) -> list[ToolEntry]:
        return [tool for change in self.changes if change.is_on for tool in change.tools]

    @property
    def tools_off(self) -> list[ToolEntry]:
        return [tool for change in self.changes if not change.is_on for tool in change.tools]

    @property
    def writes(self) -> list[str]:
        """The tools that write and are switched on."""
        return [name for change in self.changes for name in change.writes]


def may_change(user: Any, switch: ToolSwitch) -> bool:
    return bool(user.has_perm(switch.permission("change")))


def may_change_any(user: Any) -> bool:
    return any(user.has_perm(each.permission("change")) for each in SWITCHES)


def planned(draft: SwitchDraft, entries: Iterable[ToolEntry]) -> SwitchPlan:
    """What the draft would do to the tools as they are now."""
    tools: dict[str, list[ToolEntry]] = {}
    switches: dict[str, ToolSwitch] = {}
    for entry in entries:
        if entry.switch is not None:
            tools.setdefault(entry.switch.switch_id, []).append(entry)
            switches[entry.switch.switch_id] = entry.switch
    changes, overtaken = [], []
    for key, is_on in draft.changes.items():
        if key not in switches:
            overtaken.append("A tool that you have ticked or unticked no longer exists.")
        elif switches[key].is_switched_on == is_on:
            overtaken.append(overtaken_words(_title(switches[key], tools[key]), switches[key]))
        else:
            changes.append(SwitchChange(_title(switches[key], tools[key]), switches[key], is_on, tools[key]))
    return SwitchPlan(changes, overtaken)


def _title(switch: ToolSwitch, tools: Sequence[ToolEntry]) -> str:
    return f"connector {switch}" if isinstance(switch, ConnectorSwitch) else tools[0].name


def overtaken_words(title: str, switch: ToolSwitch) -> str:
    """papers_delete_page was switched on by ops-1 since you opened the list."""
    history: Any = type(switch).history  # type: ignore[attr-defined]  # of simple_history
    newest = history.filter(id=switch.pk).order_by("-history_id").first()
    by = f" by {newest.history_user.get_username()}" if newest and newest.history_user else ""
    return f"{title} was switched {'on' if switch.is_switched_on else 'off'}{by} since you opened the list."
