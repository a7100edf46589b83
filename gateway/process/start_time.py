"""The time that this process took from its start until it could answer."""

import time
from pathlib import Path

_imported = time.time()
_CLOCK_TICKS = 100  # per second, in /proc on every Linux that Python supports


class Start:
    """`seconds` is None until `note_ready` is called."""

    seconds: float | None = None

    def note_ready(self) -> None:
        if self.seconds is None:
            self.seconds = time.time() - (_started() or _imported)


start = Start()


async def note_ready() -> None:
    """The last step of the start (gateway/asgi.py)."""
    start.note_ready()


def _started() -> float | None:
    """The start of the process, in Unix seconds; None where there is no /proc."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        boot = next(line for line in Path("/proc/stat").read_text().splitlines() if line.startswith("btime "))
    except (OSError, StopIteration, IndexError, ValueError):
        return None
    return int(boot.split()[1]) + ticks / _CLOCK_TICKS
