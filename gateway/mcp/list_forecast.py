"""Predicts the tool lists that clients would get if some tools were switched on or off."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from context_protection.core.policy import Kind
from gateway.access.callers import Keys
from gateway.catalog.caller import Caller, ToolChoice
from gateway.catalog.catalog import Operations
from gateway.catalog.hidden_tools import HiddenTools
from gateway.catalog.operation import Operation
from gateway.dispatch.configuration import Configuration, current
from gateway.mcp.call_tools import ACTING
from gateway.mcp.tools import ToolLists, is_searched

EVERY_KEY = ToolChoice()  # the list of a key for which nothing was chosen


@dataclass(frozen=True, slots=True)
class AddedTool:
    """A tool that would be switched on, and of which only these facts are known while it is off. `tokens`: the size of
    its definition."""

    name: str
    reads: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class ListChange:
    """Tools that would be switched. `off`: the names of those switched off. `operations` and `added`: those switched
    on; `operations` are in the catalogue even while their connector is off."""

    off: frozenset[str] = frozenset()
    operations: tuple[Operation, ...] = ()
    added: tuple[AddedTool, ...] = ()


@dataclass(frozen=True, slots=True)
class ListFigures:
    """The list that a client gets. `tokens`: the size of all tools' definitions. `tools`: the number of definitions in
    the list; if `searched`, only search tools and pinned tools."""

    tokens: int
    tools: int
    searched: bool


class ListForecast:
    """Lists under the current configuration with a change of its tools. Blocks. Raises StoreUnavailable."""

    def __init__(self, change: ListChange) -> None:
        self.change = change
        now = current()
        self._now, self._then = ToolLists(now), ToolLists(_changed(now, change))

    @property
    def keys(self) -> Keys:
        return self._now.configuration.keys

    def now(self, choice: ToolChoice = EVERY_KEY, caller: str = "") -> ListFigures:
        listed = self._now.of(choice, caller)
        return ListFigures(listed.whole, len(listed.definitions), listed.searched)

    def then(self, choice: ToolChoice = EVERY_KEY, caller: str = "") -> ListFigures:
        every = self._then.of(replace(choice, listing="all"), caller)
        added = [each for each in self.change.added if not _is_hidden(each, choice)]
        tokens = every.whole + sum(each.tokens for each in added)
        if not is_searched(choice, tokens):
            return ListFigures(tokens, len(every.definitions) + len(added), searched=False)
        names = self._then.of(replace(choice, listing="search"), caller).names
        acts = any(not each.reads for each in added) and ACTING.name not in names
        return ListFigures(tokens, len(names) + acts, searched=True)

    def seen_by(self, caller: Caller, names: Collection[str]) -> list[str]:
        """Those of the named tools, on or off, that the caller's key would see."""
        tools = {each.name: each.kind is not Kind.ACTION for each in (*self._operations(), *self.change.operations)}
        reads = {**tools, **{each.name: each.reads for each in self.change.added}}
        return [name for name in names if not _is_hidden(AddedTool(name, reads.get(name, True), 0), caller.tools)]

    def _operations(self) -> Operations:
        return self._now.configuration.operations


def _changed(now: Configuration, change: ListChange) -> Configuration:
    kept = {each.name: each for each in now.operations if each.name not in change.off}
    return replace(now, operations=Operations({**kept, **{each.name: each for each in change.operations}}))


def _is_hidden(tool: AddedTool, choice: ToolChoice) -> bool:
    """Whether the key does not see the tool. HiddenTools alone cannot tell: it looks up in the catalogue whether a tool
    acts, and does not find a tool that is off."""
    is_only_reading = isinstance(choice.hidden, HiddenTools) and choice.hidden.reads_only
    return tool.name in choice.hidden or (is_only_reading and not tool.reads)
