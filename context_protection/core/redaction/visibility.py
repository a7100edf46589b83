"""Which fields a caller sees, apart from the built-in rules."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from context_protection.core.redaction.folding import compact

POLICY = "by policy"  # what the mask says of a field that the policy withholds, secret or not: [withheld: by policy]


@dataclass(frozen=True, slots=True)
class Visibility:
    """`reveal`: secret fields that are not redacted. `withheld`: fields that are redacted whatever they hold, also if
    they are revealed. Both with everything below them.

    Each field is a name, the label of a name/value pair, or a dotted path without list positions. A name with a dot
    before it is that of a field at the top only."""

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
        """Those of an object's names that the policy withholds. `above`: the names that lead to the object."""
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
