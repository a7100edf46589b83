"""Loads the token counter at startup, so that the first call does not wait for it."""

from context_protection.core import tokens
from gateway.threads.bridge import run_sync


async def warm_up() -> None:
    await run_sync(_load)


def _load() -> None:
    tokens.claude.estimate('{"items":[{"id":1}]}')
