"""The tools that a key does not see, for keys whose choice is more than a list of hidden names."""

from dataclasses import dataclass

from context_protection.core.policy import Kind
from gateway.catalog.catalog import catalogue


@dataclass(frozen=True, slots=True)
class HiddenTools:
    """A container of names. `within`: the only tools that the key sees; None: all. `reads_only`: tools that act are
    hidden. They are looked up in the catalogue each time, because more may be connected later."""

    hidden: frozenset[str] = frozenset()
    within: frozenset[str] | None = None
    reads_only: bool = False

    def __contains__(self, name: object) -> bool:
        if name in self.hidden or (self.within is not None and name not in self.within):
            return True
        if not self.reads_only:
            return False
        operation = catalogue.find(str(name))
        return operation is not None and operation.kind is Kind.ACTION
