"""Rejects arguments that filter or sort by a withheld field, because the rows found would reveal its values:
`?doorCode=4711` finds a row only if the code is right, and an order shows which of two values is higher."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from context_protection.core.errors import InvalidArgument, shown
from context_protection.core.masks import is_withheld, why_withheld
from context_protection.core.policy import Kind
from context_protection.core.redaction import Visibility
from context_protection.core.withheld_fields import under_all_names
from gateway.catalog.operation import Operation

# In the name of an argument that may sort by the fields in its value; and the names of those that surely do. What a
# resort or a work order is called says nothing of a secret.
_ORDERS = re.compile("sort|order", re.IGNORECASE)
_SORTS = re.compile(r"(?:default_?)?(?:sort|order)(?:s|ing)?(?:_?(?:by|fields?|keys?|columns?|order))?(?:\[\])?", re.I)
_BETWEEN_NAMES = re.compile(r"[^\w.]+")


def check_asking(operation: Operation, given: Mapping[str, Any], visibility: Visibility) -> None:
    """Rejects optional arguments of a read-only operation that filter or sort by a field withheld from the caller. The
    field may be the argument itself, a name nested in its value, a field that it compares, or a field to sort by.
    Fields in `where` and `aggregate` are checked where they are resolved. Raises InvalidArgument."""
    if operation.kind is Kind.ACTION:
        return
    every = under_all_names(visibility, operation.shape)
    for name, value in given.items():
        schema = operation.parameters.get(name)
        if schema is None:
            continue
        if not operation.is_redacted:
            _check_secrets(operation, name, value, schema, visibility)
        if visibility.withheld and name not in operation.required and value != schema.get("default"):
            _check_policy(operation, name, value, schema, every)


def _check_secrets(
    operation: Operation, name: str, value: Any, schema: Mapping[str, Any], visibility: Visibility
) -> None:
    if name in operation.asks_secrets and is_withheld(name, visibility):
        raise _withheld(name, name, visibility)
    for path in _paths_below(name, value, schema):
        if is_withheld(path.removeprefix(f"{name}."), visibility) and is_withheld(path, visibility):
            raise _withheld(path, path, visibility)
    for field in _sorted_by(name, value) if _SORTS.fullmatch(name) else ():
        if is_withheld(field, visibility):
            raise _withheld(name, field, visibility)


def _check_policy(
    operation: Operation, name: str, value: Any, schema: Mapping[str, Any], visibility: Visibility
) -> None:
    asked = [(name, name), *((name, field) for field in operation.compares.get(name, ()))]
    asked += [(path, path.removeprefix(f"{name}.")) for path in _paths_below(name, value, schema)]
    asked += [(name, field) for field in _sorted_by(name, value)]
    for argument, field in asked:
        if visibility.withholds(field.split(".")):
            raise _withheld(argument, field, visibility)


def _sorted_by(name: str, value: Any) -> Iterator[str]:
    """The names of fields in an argument that sorts: those in its texts, at any depth. None if it does not sort."""
    pending = [value] if _ORDERS.search(name) else []
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield from filter(None, _BETWEEN_NAMES.split(current))
        elif isinstance(current, (dict, list)):
            pending += current.values() if isinstance(current, dict) else current


def _paths_below(name: str, value: Any, schema: Any) -> Iterator[str]:
    """Dotted paths of the optional names within an argument's value, at any depth."""
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


def _withheld(argument: str, field: str, visibility: Visibility) -> InvalidArgument:
    what = shown(argument) if argument == field else f"{shown(argument)} ({shown(field)})"
    return InvalidArgument(
        f"{what} filters or sorts by a field that is {why_withheld(field, visibility)}",
        reason="withheld_field",
        parameter=str(shown(argument)),
        expected="arguments that name no withheld field",
        suggestion=f"Leave {shown(argument)} out, or ask an operator to let this key see it.",
    )
