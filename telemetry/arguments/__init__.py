"""The arguments of calls: masked before they are stored, deleted after a few days (TELEMETRY_ARGUMENT_DAYS).

    keep(call)  ─►  queue (16 MB)  ─►  writer thread: mask, insert

They have a queue and a thread of their own, because masking long arguments must not delay the records of calls. The
gateway knows what to mask, and registers a function for it with `mask_with`.
"""

from telemetry.arguments.masks import Hidden, Masked, mask_with
from telemetry.arguments.storage import LONGEST, CallWithArguments, flush, keep, on_callers_thread, state, stop

__all__ = [
    "LONGEST",
    "CallWithArguments",
    "Hidden",
    "Masked",
    "flush",
    "keep",
    "mask_with",
    "on_callers_thread",
    "state",
    "stop",
]
