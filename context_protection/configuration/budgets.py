"""What ops have set, and what it comes to for each operation.

defaults < the operation's own < `settings.CONTEXT_PROTECTION` (the environment) < the budget for all < for one
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from context_protection.core.policy import Kind, Policy, Problem, problems, resolve

ALL_OPERATIONS = ""

# Every operation and its kind, declared by whoever offers them: what a budget can be set for.
kinds: dict[str, Kind] = {}
# What some operations have of their own where nobody has set anything.
built_in: dict[str, Mapping[str, Any]] = {}


def declare(operation: str, kind: Kind, settings: Mapping[str, Any] | None = None) -> None:
    kinds[operation] = kind
    built_in[operation] = settings or {}


def withdraw(operation: str) -> None:
    kinds.pop(operation, None)
    built_in.pop(operation, None)


@dataclass(frozen=True)
class Budgets:
    """What ops have set, by operation."""

    layers: Mapping[str, Mapping[str, Any]]
    resolved: dict[str, Policy] = field(default_factory=dict)

    def policy(self, operation: str) -> Policy:
        """Kept only for what is declared: callers can ask for any name."""
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
        """What makes no sense, with the operation for which it does not."""
        names = dict.fromkeys([ALL_OPERATIONS, *kinds, *self.layers])
        return [(name, problem) for name in names for problem in problems(self.resolve(name))]

    def source(self, operation: str, name: str) -> str:
        """Where the effective value of a setting comes from, in words for people."""
        if operation != ALL_OPERATIONS and self.layers.get(operation, {}).get(name) is not None:
            return "set here"
        if self.layers.get(ALL_OPERATIONS, {}).get(name) is not None:
            return "set for all operations" if operation != ALL_OPERATIONS else "set here"
        return "environment" if environment().get(name) is not None else "built-in default"


def environment() -> Mapping[str, Any]:
    layer: Mapping[str, Any] = getattr(settings, "CONTEXT_PROTECTION", {})
    return layer
