"""Calls while the configuration file changes: every answer must be made under one version of the file."""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.patience import PATIENCE

BASE = 8000  # tokens
SIZES = range(10, 40)  # rows of a page; a version of the file is known by its size
ADDRESS = "/api/v1/bookings?order=-insertedOn"


def write(path: Path, size: int) -> None:
    """A version of the file, written under another name and renamed. The threshold tells the version too."""
    new = path.with_suffix(".new")
    new.write_text(f"global:\n  defaultPageSize: {size}\n  tokenBudgetThreshold: {BASE + size}\n")
    os.replace(new, path)


def version_of(response: httpx2.Response) -> int:
    """The version that an answer was made under. Raises AssertionError if it shows two, or is none."""
    assert response.status_code == 200, response.text
    document = response.json()
    rows, meta = len(document["items"]), document["meta"]
    threshold = meta["budgetRemaining"] + meta["estimatedTokens"]
    assert rows == threshold - BASE, f"{rows} rows under a threshold of {threshold}"
    return rows


@dataclass
class Load:
    """Clients that call all addresses in turn until stopped. `failures`: what was wrong with an answer."""

    bases: Sequence[str]
    key: str
    calls: int = 0
    failures: list[str] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        with httpx2.Client(headers={"Authorization": f"Bearer {self.key}"}, timeout=PATIENCE) as client:
            while not self._ended.is_set():
                for base in self.bases:
                    try:
                        version_of(client.get(base + ADDRESS))
                    except (AssertionError, httpx2.HTTPError) as error:
                        self.failures.append(f"{type(error).__name__}: {error}")
                    self.calls += 1

    def stop(self) -> None:
        self._ended.set()


def seconds_until(bases: Sequence[str], key: str, size: int, since: float) -> float:
    """From `since` (time.perf_counter()) until each process has answered under the version of `size`."""
    with httpx2.Client(headers={"Authorization": f"Bearer {key}"}, timeout=PATIENCE) as client:
        for base in bases:
            while version_of(client.get(base + ADDRESS)) != size:
                assert time.perf_counter() - since < PATIENCE, f"{base} does not obey"
    return time.perf_counter() - since


def reload(path: Path, bases: Sequence[str], key: str, reloads: int, clients: int = 2) -> tuple[Load, list[float]]:
    """Changes the file again and again under load; each version is in force everywhere before the next is written.
    Returns the load, and the seconds that each version took."""
    write(path, SIZES[-1])
    seconds_until(bases, key, SIZES[-1], time.perf_counter())
    load = Load(bases, key)
    threads = [threading.Thread(target=load.run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        seconds = []
        for number in range(reloads):
            size = SIZES[number % len(SIZES)]
            started = time.perf_counter()
            write(path, size)
            seconds.append(seconds_until(bases, key, size, started))
    finally:
        load.stop()
        for thread in threads:
            thread.join()
    return load, seconds
