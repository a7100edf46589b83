"""Progress of a call, passed from the connector that receives it to the transport that reports it."""

from collections.abc import Callable
from contextvars import ContextVar

Heard = Callable[[float, float | None, str | None], None]
"""Takes the progress, the total (None: unknown) and a message. Called on the call's event loop; must not block."""

# For the current call; None: the client did not request progress.
listener: ContextVar[Heard | None] = ContextVar("listener", default=None)
