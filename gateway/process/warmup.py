"""Loads in advance what the first call would otherwise wait for: the token counter, and the patterns that find secrets.
The process is ready before this ends; a call that comes sooner loads what it needs itself."""

import asyncio
import logging

from context_protection.core import tokens
from context_protection.core.redaction import redact
from gateway.process import memory
from gateway.threads.bridge import run_sync

logger = logging.getLogger(__name__)

_running: set[asyncio.Task[None]] = set()  # the event loop holds only weak references to tasks


async def warm_up() -> None:
    """Starts loading, and does not wait."""
    task = asyncio.create_task(_warm_up())
    _running.add(task)
    task.add_done_callback(_running.discard)


async def finish() -> None:
    """Waits until loading has ended, because its thread reports the end to the event loop."""
    await asyncio.gather(*_running)


async def _warm_up() -> None:
    try:
        await run_sync(_load)
    except Exception:
        logger.exception("not everything was loaded ahead of the first call")


def _load() -> None:
    tokens.claude.estimate('{"items":[{"id":1}]}')
    redact({"note": "The doorCode is 4711.", "doorCode": 4711})
    memory.return_free_memory()  # loading needs more memory than it keeps
