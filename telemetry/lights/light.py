"""A light, and all of them together."""

from dataclasses import dataclass
from enum import StrEnum

from telemetry.states import State

# From bad to good. A state that is not here is as good as OK.
WORST_FIRST = (State.DOWN, State.DEGRADED, State.RECOVERING)


class Component(StrEnum):
    SLUICE = "sluice"
    UPSTREAM = "upstream"
    DATABASE = "database"
    REDIS = "redis"
    RECORDING = "recording"
    ALERTING = "alerting"


@dataclass(frozen=True, slots=True)
class Light:
    """`facts`: a few words each. `said`: the sentence for a bad state, without its full stop. `bad_share`: the share of
    failed calls above which a minute is bad; None if the state does not come from calls."""

    part: Component
    name: str
    state: State
    facts: tuple[str, ...] = ()
    said: str = ""
    bad_share: float | None = None

    @property
    def is_bad(self) -> bool:
        return self.state in WORST_FIRST

    @property
    def sentence(self) -> str:
        """`said` with its final full stop or question mark."""
        return self.said if self.said.endswith(("?", ".")) else f"{self.said}."

    @property
    def key(self) -> str:
        return f"{self.part}-{self.name}" if self.part is Component.UPSTREAM else str(self.part)

    @property
    def in_a_title(self) -> str:
        """For example "acme down"."""
        return f"{self.name} {self.state.word.lower()}"


@dataclass(frozen=True, slots=True)
class Lights:
    """Sluice first, then the others, the worst first. `has_calls`: whether there were calls in the last 15 minutes."""

    all: tuple[Light, ...]
    has_calls: bool
    has_probes: bool = False
    is_reported: bool = True  # whether any process has reported lately

    @property
    def bad(self) -> tuple[Light, ...]:
        """The worst first."""
        return tuple(sorted((light for light in self.all if light.is_bad), key=lambda each: _rank(each.state)))

    @property
    def worst(self) -> Light | None:
        return next(iter(self.bad), None)

    def of_upstream(self, name: str) -> Light | None:
        return next((light for light in self.all if light.part is Component.UPSTREAM and light.name == name), None)

    @property
    def state(self) -> State:
        """The state of the worst light. If no light is bad, it is OK only if there are calls and reports, because
        nothing else shows that all is well."""
        if self.worst:
            return self.worst.state
        return State.OK if self.has_calls and self.is_reported else State.NO_DATA

    @property
    def without_names(self) -> str:
        """For example "one upstream is down", for visitors who may not see names of upstreams; "" if nothing is bad."""
        if self.worst is None:
            return ""
        word = self.worst.state.word.lower()
        if self.worst.part is not Component.UPSTREAM:
            return f"{self.worst.name} is {word}"
        count = sum(light.part is Component.UPSTREAM and light.state is self.worst.state for light in self.bad)
        return f"one upstream is {word}" if count == 1 else f"{count} upstreams are {word}"

    @property
    def words(self) -> str:
        """For example "1 problem", for the state in the header."""
        if self.bad:
            return f"{len(self.bad)} problem{'s' if len(self.bad) > 1 else ''}"
        if not self.has_calls:
            return "No calls"
        return "All well" if self.is_reported else "Not known"

    @property
    def title(self) -> str:
        """For example "acme down", for the browser's tab."""
        if self.worst is None:
            return self.words
        more = len(self.bad) - 1
        return f"{self.worst.in_a_title}{f', {more} more' if more else ''}"


def in_order(lights: list[Light]) -> tuple[Light, ...]:
    first, *others = lights
    return (first, *sorted(others, key=lambda light: _rank(light.state)))


def _rank(state: State) -> int:
    return WORST_FIRST.index(state) if state in WORST_FIRST else len(WORST_FIRST)
