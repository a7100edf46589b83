"""Redis for code that runs in every process. The driver takes 7 MB, so it is loaded only where Redis is used."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import redis


def connect(url: str) -> "redis.Redis":
    """A client. All clients of one URL in a process share a connection pool."""
    from context_protection.stores import redis_client

    return redis_client.connect(url)


def redis_failures() -> tuple[type[Exception], ...]:
    """The exceptions of a command that Redis rejects or does not answer. For `except` clauses: Python evaluates these
    only after an exception, so the driver is loaded by then."""
    from redis import RedisError

    return RedisError, OSError
