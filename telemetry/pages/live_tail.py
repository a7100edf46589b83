"""The frames that one live page receives: the calls that match its filters, at most MOST_A_SECOND."""

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from telemetry.measurement import CallOutcome, Measurement
from telemetry.pages.address import Address
from telemetry.pages.call_rows import CallRow

MOST_A_SECOND = 200  # calls; beyond that, one in n is shown
SHOWN = 200  # rows that a page holds
WINDOW = 5.0  # seconds that rates are measured over
SHORTEST = 1.0  # the fewest seconds that rates are measured over; in less time, one call would be a high rate


class Tail:
    """`now` is time.time() everywhere."""

    def __init__(self, address: Address, now: float) -> None:
        self._address = address
        self._began = now
        self._selection = address.selection
        self._recent: deque[tuple[float, int, int]] = deque()  # when, calls, failed
        self._rows: deque[Measurement] = deque(maxlen=SHOWN)
        self._selected = 0  # calls since the last frame
        self._number = 0  # counts all selected calls
        self._newest_end = 0.0

    def add(self, calls: Iterable[Measurement], now: float) -> None:
        mine = [call for call in calls if self._selection.matches(call)]
        if not mine:
            return
        self._selected += len(mine)
        failed = sum(call.outcome == CallOutcome.ERROR for call in mine)
        self._recent.append((now, len(mine), failed))
        every = self.one_in(now)
        for call in mine:
            self._number += 1
            if self._number % every == 0:
                self._rows.append(call)
        self._newest_end = max(call.at.timestamp() for call in mine)

    def one_in(self, now: float) -> int:
        return max(1, math.ceil(self._rates(now)[0] / MOST_A_SECOND))

    def frame(self, now: float) -> dict[str, Any]:
        """The calls since the last frame, the newest first. `count`: all of them, shown or not."""
        address = replace(self._address, now=datetime.fromtimestamp(now, UTC))
        rows = [row_as_json(CallRow.of(call, address)) for call in reversed(self._rows)]
        calls, failed = self._rates(now)
        frame = {"rows": rows, "count": self._selected, "oneIn": self.one_in(now), "rate": calls, "failed": failed}
        if self._selected:
            frame["behind"] = max(0.0, now - self._newest_end)
        self._rows.clear()
        self._selected = 0
        return frame

    @property
    def has_news(self) -> bool:
        return self._selected > 0

    def _rates(self, now: float) -> tuple[float, float]:
        """Calls and failed calls per second, over the last WINDOW, or the time since the page connected if shorter."""
        while self._recent and self._recent[0][0] <= now - WINDOW:
            self._recent.popleft()
        seconds = min(WINDOW, max(SHORTEST, now - self._began))
        return sum(n for _, n, _ in self._recent) / seconds, sum(n for _, _, n in self._recent) / seconds


def row_as_json(row: CallRow) -> dict[str, Any]:
    return {**asdict(row), "at": row.at.isoformat(), "state": row.state.key, "word": row.state.word}
