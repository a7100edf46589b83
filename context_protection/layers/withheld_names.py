"""The names that the policy withholds from one caller, by connector."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WithheldNames:
    """`everywhere`: the names for the operations of each connector that has none of its own in `of_connectors`."""

    everywhere: frozenset[str] = frozenset()
    of_connectors: tuple[tuple[str, frozenset[str]], ...] = ()

    def of(self, connector: str) -> frozenset[str]:
        return dict(self.of_connectors).get(connector, self.everywhere)

    def lines(self) -> Iterator[str]:
        """The names as lines of text: equal for equal names, and empty if nothing is withheld."""
        for connector, names in (("", self.everywhere), *self.of_connectors):
            if names or connector:
                yield "\t".join(("", connector, *sorted(names)))


NO_NAMES = WithheldNames()
