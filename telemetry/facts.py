"""Facts about tools, keys and upstreams that only the gateway knows. Telemetry does not import the gateway, so the
gateway registers functions that read these facts at its start.

facts.tools.provide(read)      read() → the current ToolFacts by name
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool that exists. `tokens`: the size of its definition in the list of tools. `edit`: the page that sets its
    budget. `opened_by`: the tool that returns one row of its list. `short_fields`: the known fields of its short
    answers."""

    name: str
    is_reading: bool
    is_listed: bool
    tokens: int
    budget: int
    hard_cap: int
    edit: str = ""
    opened_by: str = ""
    short_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeyFacts:
    name: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    hidden_tools: tuple[str, ...] = ()
    edit: str = ""


@dataclass(frozen=True, slots=True)
class UpstreamFacts:
    """`edit`: the page of its connection; "" if there is none."""

    name: str
    edit: str = ""


class Facts(Generic[T]):
    """Empty until `provide` is called."""

    def __init__(self) -> None:
        self._read: Callable[[], Mapping[str, T]] = dict

    def provide(self, read: Callable[[], Mapping[str, T]]) -> None:
        self._read = read

    def all(self) -> Mapping[str, T]:
        return self._read()

    def get(self, name: str) -> T | None:
        return self.all().get(name)


tools: Facts[ToolFacts] = Facts()
keys: Facts[KeyFacts] = Facts()
upstreams: Facts[UpstreamFacts] = Facts()
