"""How far a call is, as its upstream tells it: from the connector that hears it to the door that was asked to tell."""

from collections.abc import Callable
from contextvars import ContextVar

Heard = Callable[[float, float | None, str | None], None]
"""Takes note of a progress, of what total (None: not known), in words. Called on the loop of the call; never blocks."""

# Of the call that runs; None: nobody has asked.
listener: ContextVar[Heard | None] = ContextVar("listener", default=None)
