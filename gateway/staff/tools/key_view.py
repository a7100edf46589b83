"""The tool list as one key sees it."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.mcp.list_forecast import AddedTool, ListChange, ListFigures, ListForecast
from gateway.staff.tools.effect import budget, list_words
from gateway.staff.tools.tool_entries import ToolEntry


@dataclass(frozen=True, slots=True)
class KeyView:
    """`hidden`: the tools that the key may not see, including tools that are off. `listed`: the list that its clients
    get."""

    key: str
    hidden: frozenset[str]
    listed: ListFigures

    @property
    def sentence(self) -> str:
        """desk gets all 2 tools; all that it may call take 614 of 8,000 tokens. Hidden from it: 22."""
        cost = f"{self.listed.tokens:,} of {budget():,} tokens"
        listed = f"{self.key} gets {list_words(self.listed)}; all that it may call take {cost}."
        return f"{listed} Hidden from it: {len(self.hidden):,}."


def key_names() -> list[str]:
    """The keys that can call. Raises StoreUnavailable."""
    callers = ListForecast(ListChange()).keys.by_id.values()
    return sorted(each.name for each in callers if not each.has_expired)


def key_view(name: str, entries: Sequence[ToolEntry]) -> KeyView | None:
    """None if there is no such key. Raises StoreUnavailable."""
    off = tuple(AddedTool(each.name, each.reads, each.tokens) for each in entries if not each.is_on)
    found = ListForecast(ListChange(added=off))
    caller = next((each for each in found.keys.by_id.values() if each.name == name), None)
    if caller is None:
        return None
    names = [each.name for each in entries]
    hidden = frozenset(names) - frozenset(found.seen_by(caller, names))
    return KeyView(name, hidden, found.now(caller.tools, caller.name))
