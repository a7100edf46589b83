"""Connections to Redis that fail soon: the driver's own defaults try ten times, for a minute in all."""

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry


def connect(url: str, seconds: float) -> redis.Redis:
    """`seconds`: for one answer. Only a connection that was cut is made again, once: Redis may have been restarted. A
    new one costs no question but that for its database, where that is not the first."""
    return redis.Redis.from_url(
        url,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        protocol=2,
        driver_info=None,
    )
