"""Runs a recorded call again, with a function that the gateway registers at start.

replays.provide(run)      run(operation, arguments, caller) → Replayed. It calls the tool as the caller sees it, and no
                          figure counts the call.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Replayed:
    """`body`: the answer as the client would get it, JSON or text. `outcome`: a value of CallOutcome."""

    outcome: str
    body: str
    tokens: int
    latency_ms: float


Run = Callable[[str, Mapping[str, Any], str], Replayed]
_run: Run | None = None


def provide(run: Run | None) -> None:
    global _run
    _run = run


def registered() -> Run | None:
    """None: calls cannot be replayed here, so no page offers it."""
    return _run
