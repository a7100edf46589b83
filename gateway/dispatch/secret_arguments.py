"""Rejects arguments that would make an upstream reveal a secret: `?doorCode=4711` finds a row or none, which shows
whether the code is right."""

from collections.abc import Iterator, Mapping
from typing import Any

from context_protection.core.errors import InvalidArgument, shown
from context_protection.core.masks import HOW_TO_REVEAL, is_withheld
from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation

Reveal = frozenset[str]


def check_revealed(operation: Operation, given: Mapping[str, Any], reveal: Reveal) -> None:
    """Rejects optional arguments of a read-only operation that have a secret's name, also nested ones, unless the name
    is revealed to the caller. Fields in queries on stored data are checked where they are resolved. Raises
    InvalidArgument."""
    if operation.kind is Kind.ACTION or operation.is_redacted:
        return
    for name, value in given.items():
        schema = operation.parameters.get(name)
        if schema is None:
            continue
        if name in operation.asks_secrets and is_withheld(name, reveal):
            raise _withheld(name)
        for path in _paths_below(name, value, schema):
            if is_withheld(path.removeprefix(f"{name}."), reveal) and is_withheld(path, reveal):
                raise _withheld(path)


def _paths_below(name: str, value: Any, schema: Any) -> Iterator[str]:
    """Dotted paths of the optional names within an argument, at any depth."""
    pending = [(name, value, schema)]
    while pending:
        path, current, described = pending.pop()
        known = described if isinstance(described, Mapping) else {}
        if isinstance(current, dict):
            below = known.get("properties") or {}
            required = known.get("required") or ()
            for key, each in current.items():
                if key not in required:
                    yield f"{path}.{key}"
                pending.append((f"{path}.{key}", each, below.get(key)))
        elif isinstance(current, list):
            pending += [(path, each, known.get("items")) for each in current]


def _withheld(name: str) -> InvalidArgument:
    return InvalidArgument(
        f"{shown(name)} asks by what is {HOW_TO_REVEAL}",
        reason="withheld_field",
        parameter=str(shown(name)),
        expected="arguments that do not name what is withheld",
        suggestion=f"Leave {shown(name)} out, or ask an operator to reveal it to this key.",
    )
