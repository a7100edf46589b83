"""The time that clients wait for the tool list: from the arrival of `tools/list` to its result."""

from prometheus_client import Histogram

from telemetry.counters import LATENCY_BUCKETS, REGISTRY

DURATION = Histogram(
    "sluice_tool_list_seconds",
    "From a request for the tool list to its result.",
    buckets=LATENCY_BUCKETS,
    registry=REGISTRY,
)


class Slowest:
    """The slowest tools/list of this process. `count`: the number of answered requests."""

    def __init__(self) -> None:
        self.count, self.seconds = 0, 0.0

    def note(self, seconds: float) -> None:
        DURATION.observe(seconds)
        self.count += 1
        self.seconds = max(self.seconds, seconds)


slowest = Slowest()
