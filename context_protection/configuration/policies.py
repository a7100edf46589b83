"""The policy of each operation and caller, from the budgets that this process has in memory."""

import logging
from contextvars import ContextVar

from django.db import DatabaseError

from context_protection.configuration.live import Live
from context_protection.configuration.revisions import revisions
from context_protection.core.context_value import ContextValue
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.layers.arms import ArmChooser, ArmProvider
from context_protection.layers.budgets import Budgets
from context_protection.layers.file.source import configuration_file
from context_protection.layers.file.watcher import FileWatcher
from context_protection.models import TokenBudget

logger = logging.getLogger(__name__)

_arm_providers: list[ArmProvider] = []
# The budgets and the caller of the current call.
_of_call: ContextVar[tuple[Budgets, str] | None] = ContextVar("budgets_of_call", default=None)


def choose_arms_with(provider: ArmProvider) -> None:
    """Registers a provider of arms (`arms.py`). Its choosers come after those of earlier providers."""
    _arm_providers.append(provider)


def _load() -> Budgets:
    _watcher.start()
    held, admin = _live.held, TokenBudget.objects.scoped()
    saved = Budgets(admin).valid(held).admin
    file = configuration_file.latest(lambda layer: Budgets(saved, layer).problems_of_file())
    return Budgets(admin, file, _choosers(held)).valid(held)


def _apply_file() -> None:
    """Makes every process use a changed file."""
    budgets()  # if another process has announced the change, this already loads the file
    if configuration_file.has_changed:
        revisions.bump()
        budgets()


def _choosers(held: Budgets | None) -> tuple[ArmChooser, ...]:
    """The choosers of all providers. If a provider fails, the last loaded choosers stay in use (law 5)."""
    try:
        return tuple(chooser for provide in _arm_providers for chooser in provide())
    except DatabaseError:
        raise  # `Live` keeps the last configuration in use, and loads again later
    except Exception:
        logger.exception("arms not loaded; the last ones stay in use")
        return held.choosers if held is not None else ()


_live = Live(_load)
_watcher = FileWatcher(configuration_file, _apply_file)


def with_last_good(saved: Budgets) -> Budgets:
    """The saved budgets, with the last valid version of each one that is invalid now."""
    return saved.valid(_live.held)


def policy_for(operation: str, caller: str = "") -> Policy:
    """The current policy. `caller`: the name of an API key, whose own budgets and arm then apply."""
    return budgets().policy(operation, caller)


def budgets() -> Budgets:
    """The current budgets. Blocks to load them if they have changed."""
    return _live.get()


def current() -> Budgets | None:
    """The current budgets, or None if they must be loaded first."""
    return _live.current()


def last_policy_for(operation: str, caller: str = "") -> Policy:
    """The last loaded policy, or the defaults if none was loaded. Never blocks, so the event loop may call it."""
    held = _live.held
    return DEFAULTS if held is None else held.policy(operation, caller)


def used_by_call(budgets: Budgets, caller: str) -> ContextValue[tuple[Budgets, str]]:
    """Within the block, `policy_in_call` uses these budgets and this caller."""
    return ContextValue(_of_call, (budgets, caller))


def policy_in_call(operation: str) -> Policy:
    """The policy of any operation in the configuration of the current call (law 6); outside a call, the last loaded
    one. Never blocks."""
    of_call = _of_call.get()
    return last_policy_for(operation) if of_call is None else of_call[0].policy(operation, of_call[1])
