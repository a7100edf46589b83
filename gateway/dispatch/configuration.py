"""The configuration that one call uses from its start to its end (law 6): API keys, budgets and operations."""

from contextvars import ContextVar
from dataclasses import dataclass

from django.utils.asyncio import async_unsafe

from context_protection.configuration import policies
from context_protection.configuration.revisions import revisions
from context_protection.core.context_value import ContextValue
from context_protection.core.policy import Policy
from context_protection.layers.budgets import Budgets
from gateway.access import callers
from gateway.access.callers import Keys
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import Operations, catalogue


@dataclass(frozen=True, slots=True)
class Configuration:
    """`is_current`: all parts belong to `revision`. If a part could not be reloaded, its last version stays in use (law
    5), and answers made with it are not cached."""

    revision: int
    keys: Keys
    budgets: Budgets
    operations: Operations
    is_current: bool

    def confirm(self, caller: Caller) -> Caller:
        """Raises NotAuthenticated."""
        return callers.confirm(caller, self.keys)

    def policy(self, operation: str, caller: str = "") -> Policy:
        """`caller`: as in Budgets.policy."""
        return self.budgets.policy(operation, caller)


_last: Configuration | None = None


def in_memory() -> Configuration | None:
    """The configuration, or None if a part of it must be loaded first. Never blocks."""
    last = _last
    if last is None or not last.is_current or last.operations is not catalogue.operations:
        return None
    is_valid = last.revision == revisions.current() and catalogue.is_current and callers.are_recent()
    return last if is_valid else None


class ConfigurationOfCall:
    """Holds the configuration that a call uses; None until it has been read."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: Configuration | None = None


_current_call: ContextVar[ConfigurationOfCall | None] = ContextVar("configuration_of_call", default=None)


def one_call() -> ContextValue[ConfigurationOfCall]:
    """The block is one call: `revision_and_arm` reads the configuration that is set on the block's object."""
    return ContextValue(_current_call, ConfigurationOfCall())


def revision_and_arm(operation: str, caller: str) -> tuple[int, str]:
    """The revision of the current call's configuration, and the caller's arm in it. If the call failed before it read
    its configuration, uses the last one loaded; if none was loaded yet, returns 0 and "". Never blocks."""
    of_call = _current_call.get()
    found = (of_call and of_call.used) or _last
    return (0, "") if found is None else (found.revision, found.budgets.arm_name(operation, caller))


def current() -> Configuration:
    """The configuration. Blocks to load it if it has changed. Raises StoreUnavailable."""
    global _last
    configuration = in_memory()
    if configuration is None:
        configuration = _last = _load()
    return configuration


@async_unsafe
def _load() -> Configuration:
    revision = revisions.current()
    catalogue.refresh()
    keys, budgets, operations = callers.loaded(), policies.budgets(), catalogue.operations
    is_current = (
        catalogue.is_current
        and callers.current() is keys
        and policies.current() is budgets
        and revisions.current() == revision
    )
    return Configuration(revision, keys, budgets, operations, is_current)
