"""Timing functions for what runs in this process."""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


def milliseconds(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """Median CPU and wall milliseconds of one run, after a warm-up run."""
    work()
    cpu, wall = [], []
    for _ in range(runs):
        began = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - began[0])
        wall.append(time.perf_counter() - began[1])
    return statistics.median(cpu) * 1000, statistics.median(wall) * 1000


def yardstick() -> float:
    """CPU milliseconds of a million additions, the best of five. It shows the current speed of the machine, so that
    results can be compared: 24 ms on the development machine when nothing else runs there."""
    best = float("inf")
    for _ in range(5):
        began, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number
        best = min(best, time.process_time() - began)
    return best * 1000


@dataclass(slots=True)
class Times:
    """Milliseconds of each run."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


def in_turn(works: Mapping[str, Callable[[], object]], runs: int) -> dict[str, Times]:
    """Runs the works in turn, so that a busy machine slows all of them alike."""
    times = {name: Times() for name in works}
    for _ in range(runs):
        for name, work in works.items():
            began, began_cpu = time.perf_counter(), time.process_time()
            work()
            times[name].wall.append((time.perf_counter() - began) * 1000)
            times[name].cpu.append((time.process_time() - began_cpu) * 1000)
    return times
