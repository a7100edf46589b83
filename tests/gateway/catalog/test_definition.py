"""A definition is checked when its connector is loaded, not when it is called."""

from typing import Any

import pytest

from context_protection.core.policy import DEFAULTS, Kind
from gateway.catalog.definition import ToolDefinition


def definition(kind: Kind, argument: str, **more: Any) -> ToolDefinition:
    return ToolDefinition("shop_orders", "Orders", "Orders.", kind, {argument: {"type": "string"}}, **more)


@pytest.mark.parametrize(
    ("kind", "argument", "more"),
    [
        (Kind.LIST, "limit", {}),
        (Kind.LIST, "where", {}),
        (Kind.LIST, "cursor", {"form": ()}),  # dispatch takes it out of any call
        (Kind.LIST, "aggregate", {"form": ("aggregate",)}),
        (Kind.RECORD, "fields", {}),
        (Kind.TEXT, "startLine", {}),
        (Kind.ACTION, "format", {}),
    ],
)
def test_an_argument_that_protection_adds_is_rejected(kind: Kind, argument: str, more: dict[str, Any]):
    with pytest.raises(TypeError) as rejected:
        definition(kind, argument, **more)
    assert str(rejected.value) == (
        f"The operation shop_orders declares the argument '{argument}', which protection adds. "
        f"Give it another name, such as 'api_{argument}'."
    )


@pytest.mark.parametrize(
    ("kind", "argument", "more"),
    [
        (Kind.LIST, "startLine", {}),
        (Kind.LIST, "where", {"form": ("limit",)}),
        (Kind.ACTION, "where", {}),
        (Kind.RECORD, "format", {"form": ()}),
    ],
)
def test_an_argument_of_another_kinds_protection_is_its_own(kind: Kind, argument: str, more: dict[str, Any]):
    assert definition(kind, argument, **more).schema(DEFAULTS)["properties"][argument] == {"type": "string"}
