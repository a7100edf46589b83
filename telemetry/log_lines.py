"""Log lines with fields, for the hot path: most calls log two of them."""

import logging
import time
from typing import Any

_EMPTY = logging.LogRecord("", logging.INFO, "", 0, "", (), None)


def info(logger: logging.Logger, message: str, fields: dict[str, Any]) -> None:
    """Logs what `logger.info(message, extra=fields)` logs, in half the time: the record does not know where it was
    made. `fields`: no name may be that of an attribute of every LogRecord, which is not checked."""
    if not logger.isEnabledFor(logging.INFO):
        return
    now = time.time()
    record = logging.LogRecord.__new__(logging.LogRecord)
    own = {"name": logger.name, "msg": message, "created": now, "msecs": int(now % 1 * 1000) + 0.0}
    record.__dict__.update(_EMPTY.__dict__, **own, **fields)
    logger.handle(record)
