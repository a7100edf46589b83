"""Where walks are kept: Redis, or a table that beat purges. Both are shared by all processes."""

import logging
import time
from collections.abc import Callable
from typing import Any

import redis
from django.conf import settings
from django.db import connection

from context_protection.cursors import REMEMBERED, Origin, Sealer, Walk, Walks, WalkStore

logger = logging.getLogger(__name__)
AWAY_SECONDS = 5.0
READ = "SELECT data FROM context_protection_storedwalk WHERE id = %s AND expires_at > %s"
WRITE = (
    "INSERT INTO context_protection_storedwalk (id, data, expires_at) VALUES {} "
    "ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at"
)
ADD = (
    "INSERT INTO context_protection_storedwalk (id, data, expires_at) VALUES (%s, %s, %s) "
    "ON CONFLICT (id) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at "
    "WHERE context_protection_storedwalk.expires_at <= %s"
)
PREFIX = "walk:2:"  # of Redis' keys; the number changes with what is packed
Entry = tuple[str, bytes, float]  # a key, what it holds, and until when, in Unix seconds


class TableWalks:
    def put(self, walk: Walk) -> None:
        self._write(
            (walk.id, walk.pack(), walk.expires_at),
            (_origin_key(walk.id), walk.origin.pack(), walk.expires_at + REMEMBERED),
        )

    def get(self, walk_id: str) -> Walk | None:
        data = self._read(walk_id)
        return Walk.unpack(data) if data is not None else None

    def origin(self, walk_id: str) -> Origin | None:
        data = self._read(_origin_key(walk_id))
        return Origin.unpack(data) if data is not None else None

    def put_block(self, walk: Walk, number: int, data: bytes) -> None:
        self._write((_block_key(walk.id, number), data, walk.expires_at))

    def add_block(self, walk: Walk, number: int, data: bytes) -> bytes:
        key = _block_key(walk.id, number)
        with connection.cursor() as cursor:
            cursor.execute(ADD, [key, data, walk.expires_at, time.time()])
        return self._read(key) or data

    def block(self, walk_id: str, number: int) -> bytes | None:
        return self._read(_block_key(walk_id, number))

    def purge(self) -> int:
        """Removes what has expired; returns how many rows."""
        from context_protection.models import StoredWalk

        return StoredWalk.objects.filter(expires_at__lte=time.time()).delete()[0]

    # Each list reads here once, and a new walk writes: statements of one's own take half of what the ORM's take.

    @staticmethod
    def _write(*entries: Entry) -> None:
        rows = ", ".join(["(%s, %s, %s)"] * len(entries))
        with connection.cursor() as cursor:
            cursor.execute(WRITE.format(rows), [value for entry in entries for value in entry])

    @staticmethod
    def _read(key: str) -> bytes | None:
        with connection.cursor() as cursor:
            cursor.execute(READ, [key, time.time()])
            row = cursor.fetchone()
        return bytes(row[0]) if row else None


class RedisWalks:
    """Redis, which forgets by itself; while it is away, the table (law 5)."""

    def __init__(self, redis_url: str, table: TableWalks) -> None:
        self.redis = redis.Redis.from_url(redis_url, socket_timeout=1, socket_connect_timeout=1)
        self.table = table
        self._away_until = 0.0

    def put(self, walk: Walk) -> None:
        origin = (_origin_key(walk.id), walk.origin.pack(), walk.expires_at + REMEMBERED)
        if not self._write((walk.id, walk.pack(), walk.expires_at), origin):
            self.table.put(walk)

    def get(self, walk_id: str) -> Walk | None:
        data = self._read(walk_id)
        return Walk.unpack(data) if data is not None else self.table.get(walk_id)

    def origin(self, walk_id: str) -> Origin | None:
        data = self._read(_origin_key(walk_id))
        return Origin.unpack(data) if data is not None else self.table.origin(walk_id)

    def put_block(self, walk: Walk, number: int, data: bytes) -> None:
        if not self._write((_block_key(walk.id, number), data, walk.expires_at)):
            self.table.put_block(walk, number, data)

    def add_block(self, walk: Walk, number: int, data: bytes) -> bytes:
        key = f"{PREFIX}{_block_key(walk.id, number)}"
        seconds = max(1, int(walk.expires_at - time.time()))
        there = self._asked(lambda: (self.redis.set(key, data, ex=seconds, nx=True), self.redis.get(key))[1])
        return bytes(there) if there is not None else self.table.add_block(walk, number, data)

    def block(self, walk_id: str, number: int) -> bytes | None:
        data = self._read(_block_key(walk_id, number))
        return data if data is not None else self.table.block(walk_id, number)

    def _write(self, *entries: Entry) -> bool:
        def written() -> list[Any]:
            with self.redis.pipeline(transaction=False) as pipeline:
                for key, data, expires_at in entries:
                    pipeline.set(f"{PREFIX}{key}", data, ex=max(1, int(expires_at - time.time())))
                return pipeline.execute()

        return bool(self._asked(written))

    def _read(self, key: str) -> bytes | None:
        data: bytes | None = self._asked(lambda: self.redis.get(f"{PREFIX}{key}"))
        return data

    def _asked(self, command: Callable[[], Any]) -> Any:
        """The command's answer, or None while Redis is away; after a failure it is left alone for a while."""
        if time.monotonic() < self._away_until:
            return None
        try:
            return command()
        except (redis.RedisError, OSError) as error:
            self._away_until = time.monotonic() + AWAY_SECONDS
            logger.warning("walks are kept in the table: Redis is away", extra={"error": str(error)})
            return None


def _origin_key(walk_id: str) -> str:
    return f"{walk_id}.origin"


def _block_key(walk_id: str, number: int) -> str:
    return f"{walk_id}.{number}"


def _chosen() -> WalkStore:
    table = TableWalks()
    return RedisWalks(settings.REDIS_URL, table) if getattr(settings, "REDIS_URL", "") else table


walks = Walks(store=_chosen(), sealer=Sealer([settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]))
