"""The policy of each operation, from the budgets that this process has cached."""

from context_protection.configuration.budgets import Budgets
from context_protection.configuration.live import Live
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.models import TokenBudget


def _load() -> Budgets:
    return with_last_good(TokenBudget.objects.budgets())


_live = Live(_load)


def with_last_good(saved: Budgets) -> Budgets:
    """The saved budgets. The last good one stays in use in place of an invalid one."""
    return saved.valid(_live.held)


def policy_for(operation: str) -> Policy:
    """The current policy: the same object until ops change a budget."""
    return budgets().policy(operation)


def budgets() -> Budgets:
    """The current budgets. Reloads them if they have changed, which blocks."""
    return _live.get()


def current() -> Budgets | None:
    """The current budgets, or None if they must be loaded first."""
    return _live.current()


def last_policy_for(operation: str) -> Policy:
    """The last loaded policy. Never blocks, so the event loop may call it."""
    held = _live.held
    return DEFAULTS if held is None else held.policy(operation)
