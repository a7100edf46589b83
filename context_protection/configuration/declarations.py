"""The operations that exist, as far as budgets need to know them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from context_protection.core.policy import Kind


@dataclass(frozen=True, slots=True)
class DeclaredOperation:
    """`settings`: what the operation declares for itself, by the names in Policy; all budgets override it."""

    kind: Kind = Kind.LIST
    settings: Mapping[str, Any] = field(default_factory=dict)
    connector: str = ""


UNDECLARED = DeclaredOperation()
declared: dict[str, DeclaredOperation] = {}


def declare(operation: str, kind: Kind, settings: Mapping[str, Any] | None = None, connector: str = "") -> None:
    declared[operation] = DeclaredOperation(kind, settings or {}, connector)


def withdraw(operation: str) -> None:
    """Undoes `declare`."""
    declared.pop(operation, None)
