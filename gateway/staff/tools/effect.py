"""What a draft of switches would change: the tool list, for clients in general and for each key."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from gateway.access.models import ConnectorSwitch
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.mcp.list_forecast import AddedTool, ListChange, ListFigures, ListForecast
from gateway.staff.tools.draft import SwitchChange, SwitchPlan
from telemetry import wording


@dataclass(frozen=True, slots=True)
class ListEffect:
    """The tool list now and after the change, for a key for which no tools were chosen."""

    now: ListFigures
    then: ListFigures

    @property
    def tokens(self) -> str:
        """8,024 of 8,000"""
        return f"{self.then.tokens:,} of {budget():,}"

    @property
    def is_over(self) -> bool:
        return self.then.tokens > budget()

    @property
    def flips(self) -> bool:
        return self.now.searched != self.then.searched

    @property
    def sentence(self) -> str:
        """Clients would get 4 search tools instead of all 24 tools."""
        if self.now.searched == self.then.searched and self.now.tools == self.then.tools:
            return f"Clients would still get {list_words(self.then)}."
        return f"Clients would get {list_words(self.then)} instead of {list_words(self.now)}."


@dataclass(frozen=True, slots=True)
class KeyEffect:
    """What changes for a key. `gains`: tools that it may call only then; `loses`: only now."""

    key: str
    gains: Sequence[str]
    loses: Sequence[str]
    now: ListFigures
    then: ListFigures

    @property
    def flips(self) -> bool:
        return self.now.searched != self.then.searched

    @property
    def is_changed(self) -> bool:
        return bool(self.gains or self.loses) or self.now != self.then


def budget() -> int:
    return int(settings.TOOL_LIST_BUDGET)


def list_words(figures: ListFigures) -> str:
    """All 24 tools · 4 search tools"""
    return f"{figures.tools:,} search tools" if figures.searched else f"all {wording.plural(figures.tools, 'tool')}"


def forecast(plan: SwitchPlan) -> ListForecast:
    """Blocks. Raises StoreUnavailable."""
    off = [tool.name for tool in plan.tools_off]
    operations = [each for change in plan.changes if change.is_on for each in _operations(change)]
    added = [
        AddedTool(tool.name, tool.reads, tool.tokens)
        for change in plan.changes
        if change.is_on and not isinstance(change.switch, ConnectorSwitch)
        for tool in change.tools
        if tool.has_effect and not tool.is_on
    ]
    return ListForecast(ListChange(frozenset(off), tuple(operations), tuple(added)))


def _operations(change: SwitchChange) -> list[Operation]:
    """The operations of a connector that is switched on."""
    if not isinstance(change.switch, ConnectorSwitch):
        return []
    return [each for each in catalogue.switched_off if catalogue.connector_of(each.name) == change.switch.connector]


def list_effect(found: ListForecast) -> ListEffect:
    return ListEffect(found.now(), found.then())


def key_effects(found: ListForecast, plan: SwitchPlan) -> list[KeyEffect]:
    """The effects on those keys for which something changes, sorted by key."""
    on = [tool.name for tool in plan.tools_on if tool.has_effect and not tool.is_on]
    off = [tool.name for tool in plan.tools_off if tool.is_on]
    callers = sorted(found.keys.by_id.values(), key=lambda each: each.name)
    effects = [_key_effect(found, each, on, off) for each in callers if not each.has_expired]
    return [each for each in effects if each.is_changed]


def _key_effect(found: ListForecast, caller: Caller, on: Sequence[str], off: Sequence[str]) -> KeyEffect:
    return KeyEffect(
        caller.name,
        found.seen_by(caller, on),
        found.seen_by(caller, off),
        found.now(caller.tools, caller.name),
        found.then(caller.tools, caller.name),
    )
