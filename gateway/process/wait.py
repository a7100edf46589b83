"""Waits for a free slot, until a timeout or until the client disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from gateway.process import errors
from gateway.process.bodies import ClientGone, until_gone


async def until_taken(taking: Coroutine[Any, Any, Any], receive: Any, seconds: float) -> None:
    """Waits until `taking` has taken a slot. Raises Busy on timeout, or ClientGone; then no slot is taken."""
    taken = asyncio.create_task(taking)
    gone = asyncio.create_task(until_gone(receive))
    try:
        await asyncio.wait({taken, gone}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        has_place = taken.done() and not taken.cancelled()
        taken.cancel()
    if not has_place:
        raise ClientGone if gone.done() else errors.no_free_slot()
