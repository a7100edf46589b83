"""Connectors that are switched off in the admin."""

from collections.abc import Collection, Iterable, Mapping

from gateway.access.models import ConnectorSwitch


def switched_off(operations: Mapping[str, Iterable[str]]) -> Collection[str]:
    """The names of the operations of connectors that are off. `operations`: connector → names of its operations.
    Blocks."""
    off = ConnectorSwitch.objects.filter(is_on=False).values_list("connector", flat=True)
    return [name for connector in off for name in operations.get(connector, ())]


def add(connectors: Iterable[str]) -> None:
    """Adds a row for every connector that has none."""
    for connector in connectors:
        ConnectorSwitch.objects.get_or_create(connector=connector)
