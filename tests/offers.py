"""Operations that take the place of others of their names, for the length of a test."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation


@contextmanager
def in_place(operations: Sequence[Operation], connector: str = "") -> Iterator[None]:
    """Offers the operations, new ones as those of `connector`. Afterwards those of before are back, with their
    connectors, in their former places."""
    names = [each.name for each in operations]
    before = {name: (known, catalogue.connector_of(name)) for name in names if (known := catalogue.find(name))}
    for each in operations:
        catalogue.offer([each], before[each.name][1] if each.name in before else connector)
    try:
        yield
    finally:
        for name in names:
            if name in before:
                known, its_connector = before[name]
                catalogue.offer([known], its_connector)
            else:
                catalogue.withdraw(name)
