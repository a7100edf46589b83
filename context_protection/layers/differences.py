"""Compares the values that take effect in two configurations."""

from typing import Any

from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import BudgetScope
from context_protection.layers.budgets import Budgets
from context_protection.layers.value_changes import ValueChange, changes_at


def effective_values(before: Budgets, after: Budgets) -> list[ValueChange]:
    """The differences between the values that take effect, without those of arms. A difference that a wider scope has
    too is not repeated for a single operation or caller."""
    found: list[ValueChange] = []
    seen: set[tuple[str, str, str, Any, Any]] = set()  # operation, caller, and the change
    for at in dict.fromkeys([*before.places(), *after.places()]):
        for each in changes_at(at, _effective(before, at), _effective(after, at)):
            change = each.name, each.before, each.after
            if seen.isdisjoint({("", "", *change), (at.operation, "", *change), ("", at.caller, *change)}):
                found.append(each)
            seen.add((at.operation, at.caller, *change))
    return found


def _effective(budgets: Budgets, at: BudgetScope) -> dict[str, Any]:
    policy = budgets.resolve(at)
    return {name: getattr(policy, name) for name in SETTINGS}
