"""Timing functions for the benchmarks."""

import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path


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
    """CPU milliseconds of a million additions, the best of five: the current speed of the machine, to compare results
    with. It is 24 ms on the development machine when nothing else runs there."""
    best = float("inf")
    for _ in range(5):
        began, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number
        best = min(best, time.process_time() - began)
    return best * 1000


def in_turn(works: Mapping[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Wall milliseconds of each work's runs. The works alternate, so that a busy machine slows all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - began) * 1000)
    return times


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process. schedstat counts nanoseconds; /proc/…/stat counts ticks of 10 ms."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
