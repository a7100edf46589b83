"""Which fields a caller sees, apart from the built-in rules."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from context_protection.core.redaction.folding import compact

POLICY = "by policy"  # in the mask of each field that the policy withholds: [withheld: by policy]


@dataclass(frozen=True, slots=True)
class Visibility:
    """`reveal`: secret fields that are not redacted. `withheld`: fields that are always redacted, even if they are
    revealed. Both apply to everything below a field.

    Each field is a name, the label of a name/value pair, or a dotted path without list positions. A name with a leading
    dot means only a field at the top level."""

    reveal: frozenset[str] = frozenset()
    withheld: frozenset[str] = frozenset()

    def reveals(self, steps: Sequence[str]) -> bool:
        """Whether the field at the end of a path, or one above it, is revealed. The step `*` is any element of a
        list."""
        return bool(self.reveal) and _are_named(steps, _folded(self.reveal))

    def withholds(self, steps: Sequence[str]) -> bool:
        """Whether the policy withholds the field at the end of a path, or one above it."""
        return bool(self.withheld) and _are_named(steps, _folded(self.withheld))

    def withheld_among(self, above: tuple[str, ...], names: tuple[str, ...]) -> Collection[str]:
        """The names of an object that the policy withholds. `above`: the names that lead to the object."""
        return _withheld_among(self, above, names) if self.withheld else ()


@lru_cache(maxsize=4096)
def _withheld_among(visibility: Visibility, above: tuple[str, ...], names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(name for name in names if visibility.withholds((*above, name)))


STANDARD = Visibility()  # the built-in rules alone


def _are_named(steps: Sequence[str], fields: frozenset[str]) -> bool:
    names = [_compact(step) for step in steps if step != "*"]
    if any(name in fields for name in names) or (names and f".{names[0]}" in fields):
        return True
    return any(".".join(names[:end]) in fields for end in range(2, len(names) + 1))


_compact = lru_cache(maxsize=16384)(compact)


@lru_cache(maxsize=1024)
def _folded(fields: frozenset[str]) -> frozenset[str]:
    return frozenset(".".join(compact(step) for step in name.split(".") if step != "*") for name in fields)
