"""The caller of an operation: an API key, the tools chosen for it, and the fields that it sees."""

import hashlib
import math
import time
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache

from context_protection.core.redaction import Visibility
from context_protection.layers.declarations import UNDECLARED, declared
from context_protection.layers.withheld_names import NO_NAMES, WithheldNames

RESULTS, TOOLS = "results", "tools"  # Sluice's own connectors: the data that they read is already masked


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The tool list that the admin has chosen for a key. `listing`: "all" (every tool), "search" (a search for tools),
    or "" (whichever suits the list's size). Names of operations that no longer exist are ignored."""

    listing: str = ""
    pinned: frozenset[str] = frozenset()  # listed even in search mode
    # Treated as if they did not exist, over every transport. Hashable: a frozenset, or HiddenTools.
    hidden: Container[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Caller:
    """`id` identifies the key; `name` is shown in telemetry. `reveal`: the names of secret fields that the caller may
    see. `withheld`: the names of fields that the policy withholds from it. `projects`: the names of the source trees
    that it may read; None: all."""

    id: str
    name: str
    expires_at: float | None = None
    tools: ToolChoice = ToolChoice()
    reveal: frozenset[str] = frozenset()
    withheld: WithheldNames = NO_NAMES
    projects: frozenset[str] | None = frozenset()
    digest: str = ""  # digest of the secret that was sent; a rotated key has two secrets for a while
    may_read_telemetry: bool = False  # the figures of all callers, over REST
    may_read_configuration: bool = False  # the settings in force, over REST

    @property
    def owner(self) -> str:
        """The owner of snapshots, cursors and cached responses: the key, the fields that it sees and the projects that
        it may read, so that a change of these invalidates all three."""
        return f"{self.id}/{_digest_of(self.reveal, self.withheld, self.projects)}"

    def visibility(self, operation: str) -> Visibility:
        """Which fields of the operation's data the caller sees."""
        connector = declared.get(operation, UNDECLARED).connector
        withheld = frozenset() if connector in (RESULTS, TOOLS) else self.withheld.of(connector)
        return Visibility(self.reveal, withheld)

    def may_read(self, project: str) -> bool:
        return self.projects is None or project in self.projects

    @property
    def has_expired(self) -> bool:
        return self.seconds_left <= 0

    @property
    def seconds_left(self) -> float:
        """Seconds until the key expires; infinite if it does not."""
        return math.inf if self.expires_at is None else self.expires_at - time.time()

    @property
    def is_authenticated(self) -> bool:
        """Django REST framework requires this of a user."""
        return True


@lru_cache(maxsize=1024)
def _digest_of(reveal: frozenset[str], withheld: WithheldNames, projects: frozenset[str] | None) -> str:
    names = [*sorted(reveal), *withheld.lines()]
    if projects != frozenset():  # without projects, the digest is the same as before projects existed
        names += ["", "all"] if projects is None else ["", "these", *sorted(projects)]
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:12]
