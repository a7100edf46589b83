"""How a piece of work is timed."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path


def milliseconds(work: Callable[[], object], runs: int) -> tuple[float, float]:
    """CPU and wall milliseconds of one run: the medians."""
    work()
    cpu, wall = [], []
    for _ in range(runs):
        began = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - began[0])
        wall.append(time.perf_counter() - began[1])
    return statistics.median(cpu) * 1000, statistics.median(wall) * 1000


def yardstick() -> float:
    """CPU milliseconds of a million additions, the best of five: what the machine gives just now. Of 24 ms here when
    nothing else runs on it."""
    best = float("inf")
    for _ in range(5):
        began, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number
        best = min(best, time.process_time() - began)
    return best * 1000


def in_turn(works: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Wall milliseconds of each work's runs, one after the other in turn: what disturbs the machine disturbs all."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - began) * 1000)
    return times


def cpu_seconds(pid: int) -> float:
    """Of all threads of a process; in nanoseconds, where /proc/…/stat counts in ticks of ten milliseconds."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9
