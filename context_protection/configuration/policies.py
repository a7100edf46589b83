"""The policy of each operation, from the budgets that this process has cached."""

from context_protection.configuration.budgets import Budgets
from context_protection.configuration.live import Live
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.models import TokenBudget

_live = Live(TokenBudget.objects.budgets)


def policy_for(operation: str) -> Policy:
    """The policy that applies now: the same object until ops change a budget."""
    return budgets().policy(operation)


def budgets() -> Budgets:
    """The budgets that apply now, loaded if they have changed; that blocks."""
    return _live.get()


def current() -> Budgets | None:
    """The budgets that apply now, or None if they would have to be loaded."""
    return _live.current()


def last_policy_for(operation: str) -> Policy:
    """The policy as it was loaded last. Never blocks, so it may be called on the event loop."""
    held = _live.held
    return DEFAULTS if held is None else held.policy(operation)
