"""Log lines with fields, for the hot path: most calls log two of them."""

import logging
import time
from typing import Any

_EMPTY = logging.LogRecord("", logging.INFO, "", 0, "", (), None)


def info(logger: logging.Logger, message: str, fields: dict[str, Any]) -> None:
    """Logs what `logger.info(message, extra=fields)` logs, in half the time: the record does not know where it was
    made. Raises KeyError, as the standard library does, if a field has the name of an attribute of every LogRecord."""
    if not logger.isEnabledFor(logging.INFO):
        return
    if not _EMPTY.__dict__.keys().isdisjoint(fields):
        raise KeyError(f"Rename the fields that every LogRecord has: {sorted(_EMPTY.__dict__.keys() & fields.keys())}")
    now = time.time()
    record = logging.LogRecord.__new__(logging.LogRecord)
    own = {"name": logger.name, "msg": message, "created": now, "msecs": int(now % 1 * 1000) + 0.0}
    record.__dict__.update(_EMPTY.__dict__, **own, **fields)
    logger.handle(record)
