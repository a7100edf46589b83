"""The policy of each operation, from the process's snapshot of what ops have set."""

from context_protection.configuration.budgets import Budgets
from context_protection.configuration.live import Live
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.models import TokenBudget

_live = Live(TokenBudget.objects.budgets)


def policy_for(operation: str) -> Policy:
    """The policy that applies now. The same object until ops change something."""
    return _live.get().policy(operation)


def current() -> Budgets | None:
    """Where `policy_for` would look now, if it had not to load it."""
    return _live.current()


def last_policy_for(operation: str) -> Policy:
    """The policy as it was loaded last: what may be read where nothing may block."""
    held = _live.held
    return DEFAULTS if held is None else held.policy(operation)
