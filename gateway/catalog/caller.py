"""The caller of an operation: an API key, the tools chosen for it, and the secrets that it may see."""

import hashlib
import math
import time
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """The tool list that the admin has chosen for a key. `listing`: "all" tools, "search" for tools, or "" to choose by
    the list's size. Names of operations that no longer exist are ignored."""

    listing: str = ""
    pinned: frozenset[str] = frozenset()  # listed also in search mode
    # Treated as if they did not exist, over every transport. Hashable: a frozenset, or HiddenTools.
    hidden: Container[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Caller:
    """`id` identifies the key; `name` is shown in telemetry; `reveal` are names of secret fields that the caller may
    see."""

    id: str
    name: str
    expires_at: float | None = None
    tools: ToolChoice = ToolChoice()
    reveal: frozenset[str] = frozenset()
    digest: str = ""  # of the secret: a key that was rotated has two for a while
    may_read_telemetry: bool = False  # the figures of all callers, over REST
    may_read_configuration: bool = False  # the settings in force, over REST

    @property
    def owner(self) -> str:
        """The owner of snapshots, cursors and cached responses: the key and the fields revealed to it, so that changing
        those fields invalidates all three."""
        return f"{self.id}/{_digest_of(self.reveal)}"

    @property
    def has_expired(self) -> bool:
        return self.seconds_left <= 0

    @property
    def seconds_left(self) -> float:
        """Seconds until the key expires; infinite if it does not."""
        return math.inf if self.expires_at is None else self.expires_at - time.time()

    @property
    def is_authenticated(self) -> bool:
        """Required of a user by Django REST framework."""
        return True


@lru_cache(maxsize=1024)
def _digest_of(names: frozenset[str]) -> str:
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()[:12]
