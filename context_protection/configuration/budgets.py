"""The budgets that ops have saved, and the effective policy of each operation.

Precedence, lowest first: defaults, the operation's own settings, `settings.CONTEXT_PROTECTION` (the environment), the
budget for all operations, the budget for one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from context_protection.core.policy import SETTINGS, Kind, Policy, problems, resolve
from context_protection.core.setting import Problem

ALL_OPERATIONS = ""

# The kind of every declared operation; budgets can be set for these.
kinds: dict[str, Kind] = {}
# Settings that an operation declares for itself; ops can override them.
built_in: dict[str, Mapping[str, Any]] = {}


def declare(operation: str, kind: Kind, settings: Mapping[str, Any] | None = None) -> None:
    kinds[operation] = kind
    built_in[operation] = settings or {}


def withdraw(operation: str) -> None:
    """Undoes `declare`."""
    kinds.pop(operation, None)
    built_in.pop(operation, None)


@dataclass(frozen=True)
class Budgets:
    """The settings that ops have saved, by operation. `rejected`: what is wrong with those that are not used."""

    layers: Mapping[str, Mapping[str, Any]]
    rejected: Mapping[str, list[Problem]] = field(default_factory=dict)
    resolved: dict[str, Policy] = field(default_factory=dict)

    def valid(self, last: "Budgets | None") -> "Budgets":
        """The budgets with those of `last` in place of invalid ones, which only a write past the admin can leave."""
        rejected = {name: found for name, layer in self.layers.items() if (found := _problems(layer))}
        before = last.layers if last is not None else {}
        layers = {name: before.get(name, {}) if name in rejected else layer for name, layer in self.layers.items()}
        return Budgets(layers, rejected)

    def policy(self, operation: str) -> Policy:
        """The effective policy, cached for declared operations only, because callers may send any name."""
        if operation in self.resolved:
            return self.resolved[operation]
        policy = self.resolve(operation)
        if operation in kinds or operation == ALL_OPERATIONS:
            self.resolved[operation] = policy
        return policy

    def resolve(self, operation: str) -> Policy:
        set_by_ops = [self.layers.get(name, {}) for name in (ALL_OPERATIONS, operation)]
        layers = [built_in.get(operation, {}), environment(), *set_by_ops]
        return resolve(kinds.get(operation, Kind.LIST), layers)

    def with_layer(self, operation: str, layer: Mapping[str, Any]) -> "Budgets":
        return Budgets({**self.layers, operation: layer})

    def problems(self) -> list[tuple[str, Problem]]:
        """Invalid combinations of settings, each with the operation that has it."""
        names = dict.fromkeys([ALL_OPERATIONS, *kinds, *self.layers])
        return [(name, problem) for name in names for problem in problems(self.resolve(name))]

    def source(self, operation: str, name: str) -> str:
        """The source of a setting's effective value, as text for the admin."""
        if operation != ALL_OPERATIONS and self.layers.get(operation, {}).get(name) is not None:
            return "set here"
        if self.layers.get(ALL_OPERATIONS, {}).get(name) is not None:
            return "set for all operations" if operation != ALL_OPERATIONS else "set here"
        return "environment" if environment().get(name) is not None else "built-in default"


def _problems(layer: Mapping[str, Any]) -> list[Problem]:
    given = ((SETTINGS[name], value) for name, value in layer.items() if value is not None)
    return [problem for setting, value in given if (problem := setting.problem(value))]


def environment() -> Mapping[str, Any]:
    layer: Mapping[str, Any] = getattr(settings, "CONTEXT_PROTECTION", {})
    return layer
