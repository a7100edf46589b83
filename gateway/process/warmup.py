"""Loads at startup what the first call would otherwise wait for."""

from context_protection.core import tokens
from gateway.threads.bridge import run_sync


async def warm_up() -> None:
    await run_sync(_load)


def _load() -> None:
    tokens.claude.estimate('{"items":[{"id":1}]}')
