"""Which calls a budget is for, and which of several budgets wins."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Any

ANY = "*"  # in a pattern: any characters, or none


class Breadth(IntEnum):
    """The operations that a scope covers. A narrower scope wins."""

    ALL = 0
    CONNECTOR = 1
    PATTERN = 2
    OPERATION = 3


@dataclass(frozen=True, slots=True)
class BudgetScope:
    """All operations, those of a connector, those whose names match a pattern such as `nsip_*`, or one operation; for
    all callers, or for the API key with one name.

    The most specific scope wins: all < connector < pattern (more letters win) < operation, and then the same four for
    the caller. A budget of a caller for all operations thus wins over a budget of all callers for one operation.
    """

    operation: str = ""  # a name or a pattern
    connector: str = ""
    caller: str = ""

    @property
    def breadth(self) -> Breadth:
        if self.connector:
            return Breadth.CONNECTOR
        if not self.operation:
            return Breadth.ALL
        return Breadth.PATTERN if ANY in self.operation else Breadth.OPERATION

    @property
    def rank(self) -> tuple[bool, Breadth, int, str]:
        """A sort key, from the weakest scope to the strongest. Of two patterns with equally many letters, the
        alphabetically later one wins."""
        letters = len(self.operation.replace(ANY, ""))
        return bool(self.caller), self.breadth, letters, self.operation

    def covers(self, operation: str, connector: str, caller: str) -> bool:
        """Whether the scope is for this operation of this connector, called by this caller. An empty `operation` stands
        for all operations; the scopes of a pattern and of one operation do not cover it."""
        if self.caller and self.caller != caller:
            return False
        match self.breadth:
            case Breadth.ALL:
                return True
            case Breadth.CONNECTOR:
                return self.connector == connector
            case Breadth.PATTERN:
                return bool(operation) and _compiled(self.operation).fullmatch(operation) is not None
            case Breadth.OPERATION:
                return self.operation == operation

    def __str__(self) -> str:
        operations = self.operation or (f"connector {self.connector}" if self.connector else "all operations")
        return f"{operations}, caller {self.caller}" if self.caller else operations


EVERYTHING = BudgetScope()
Values = Mapping[str, Any]  # settings by name; None: not set
Scoped = Mapping[BudgetScope, Values]


class RankedScopes:
    """The budgets of a layer, ranked. Those of single operations are looked up by name: there may be hundreds."""

    def __init__(self, scoped: Scoped) -> None:
        self._scoped = scoped
        self._wide: dict[str, list[BudgetScope]] = {}  # by caller, from the weakest to the strongest
        for scope in sorted(scoped, key=lambda each: each.rank):
            if scope.breadth is not Breadth.OPERATION:
                self._wide.setdefault(scope.caller, []).append(scope)

    def covering(self, at: BudgetScope, connector: str) -> Iterator[tuple[BudgetScope, Values]]:
        """The budgets for this operation of this connector and this caller, from the weakest to the strongest."""
        for caller in dict.fromkeys(("", at.caller)):
            for scope in self._wide.get(caller, ()):
                if scope.covers(at.operation, connector, at.caller):
                    yield scope, self._scoped[scope]
            exact = BudgetScope(at.operation, caller=caller)
            if exact.breadth is Breadth.OPERATION and exact in self._scoped:
                yield exact, self._scoped[exact]


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split(ANY))))
