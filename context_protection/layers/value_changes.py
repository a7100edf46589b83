"""The settings whose values differ at the same scope."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import BudgetScope, Scoped

UNSET = "-"


@dataclass(frozen=True, slots=True)
class ValueChange:
    """A setting whose value differs at scope `at`. None: not set."""

    at: BudgetScope
    name: str
    before: Any
    after: Any

    @property
    def key(self) -> str:
        return f"{self.at}: {SETTINGS[self.name].canonical_name}"

    @property
    def words(self) -> str:
        """The change in words, such as "4,000 → 8,000"."""
        return f"{self._shown(self.before)} → {self._shown(self.after)}"

    def _shown(self, value: Any) -> str:
        return UNSET if value is None else SETTINGS[self.name].shown(value)


def set_values(before: Scoped, after: Scoped) -> list[ValueChange]:
    """The differences between the values that are set, from the weakest scope to the strongest."""
    scopes = sorted(before.keys() | after.keys(), key=lambda each: each.rank)
    return [change for at in scopes for change in changes_at(at, before.get(at, {}), after.get(at, {}))]


def changes_at(at: BudgetScope, before: Any, after: Any) -> Iterator[ValueChange]:
    for name in SETTINGS:
        old, new = before.get(name), after.get(name)
        if old != new:
            yield ValueChange(at, name, old, new)
