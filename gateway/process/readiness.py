"""Whether this process can answer calls now. A separate thread checks every second, and sooner if something waits for
the database. Probes report the last result, and never wait for a store."""

import logging
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, DatabaseError, close_old_connections, connection, connections

from context_protection.stores import snapshots
from context_protection.stores.lazy_redis import connect, redis_failures
from gateway.process.database_reach import ANSWER_SECONDS, database
from gateway.threads.bridge import run_sync

if TYPE_CHECKING:
    import psycopg
    import redis

LOOK_SECONDS = 1.0  # between two checks
MARK_SECONDS = 600  # lifetime of this process's marker in Redis, whose loss shows that Redis has lost data
PLENTY_BYTES = 16 * 2**20  # free disk space above which no test write is needed
OLD_SECONDS = 10.0  # an older result is invalid, because the thread has died or hangs
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """The result of a check. `room`: whether this machine's disk has room for writes to the database.
    `redis`: None if Redis is not configured; while Redis is down, calls are answered from the database."""

    database: bool
    room: bool
    redis: bool | None
    at: float  # time.monotonic()

    def document(self) -> dict[str, Any]:
        """The body of /readyz. `status` is "ok" if calls can be answered."""
        age = time.monotonic() - self.at
        ready = self.database and self.room and age < OLD_SECONDS
        stores = {"database": self.database, "room": self.room} | ({} if self.redis is None else {"redis": self.redis})
        return {"status": "ok" if ready else "down", **stores, "secondsAgo": round(age, 1)}


class Readiness:
    def __init__(self) -> None:
        self._when_redis_is_lost: list[Callable[[], None]] = []
        self._mark, self._is_marked = f"sluice:process:{uuid4().hex}", False
        self._seen: StoreCheck | None = None
        self._ended = threading.Event()
        self._postgres: psycopg.Connection[Any] | None = None
        self._redis: redis.Redis | None = None

    def when_redis_is_lost(self, action: Callable[[], None]) -> None:
        """Registers an action to call each time Redis is emptied, or restarts without its data."""
        self._when_redis_is_lost.append(action)

    async def start(self) -> None:
        self._ended.clear()
        database.is_watched = True
        await run_sync(_renew_connections)
        threading.Thread(target=self._run, name="readiness", daemon=True).start()

    async def stop(self) -> None:
        self._ended.set()
        database.suspect()

    def document(self) -> Mapping[str, Any]:
        """The last result. Does not block."""
        return self._seen.document() if self._seen else {"status": "down", "database": False}

    def look(self) -> None:
        database.wanted.clear()
        answers = self._database_answers()
        database.is_away = not answers
        room = answers and self._has_room()
        self._note(StoreCheck(answers, room, self._redis_answers(), time.monotonic()))

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.look()
            except Exception:
                logger.exception("stores not checked")
            finally:
                close_old_connections()
            database.wanted.wait(LOOK_SECONDS)
        database.is_away = database.is_watched = False
        self.close()

    def _note(self, seen: StoreCheck) -> None:
        before, self._seen = self._seen, seen
        if seen.database != (before is None or before.database):
            logger.warning("the database answers again" if seen.database else "the database does not answer")
        if seen.database and seen.room != (before is None or before.room):
            logger.warning("the database can be written again" if seen.room else "the database has no room left")

    # -- The stores ---------------------------------------------------------------------------------

    def _database_answers(self) -> bool:
        return self._postgres_answers() if connection.vendor == "postgresql" else self._sqlite_answers()

    def _sqlite_answers(self) -> bool:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
        except (DatabaseError, OSError):
            return False
        return True

    def _has_room(self) -> bool:
        """Whether the database can be written. Only a test write shows this, but one every second would invalidate
        each thread's page cache. So it is made only when the disk is nearly full or writes have failed."""
        if not settings.EMBEDDED_DATABASE:
            return True
        had_room = self._seen is None or self._seen.room
        folder = Path(settings.DATABASES["default"]["NAME"]).parent
        if had_room and snapshots.table.works and shutil.disk_usage(folder).free > PLENTY_BYTES:
            return True
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"PRAGMA busy_timeout = {int(ANSWER_SECONDS * 1000)}")
            snapshots.table.try_room()
        except DatabaseError as error:
            is_busy = getattr(error.__cause__, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
            return had_room and is_busy
        return True

    def _postgres_answers(self) -> bool:
        """Uses a connection outside the pool, because those of the pool may all be in use."""
        from psycopg import Error

        from gateway.process.postgres.deadline import ConnectionWithDeadline

        try:
            if self._postgres is None:
                parameters = connection.get_connection_params()
                self._postgres = ConnectionWithDeadline.connect(**{**parameters, "autocommit": True})
            self._postgres.execute("SELECT 1")
        except (DatabaseError, Error, OSError):
            self.close()
            return False
        except BaseException:
            self.close()
            raise
        return True

    def close(self) -> None:
        if self._postgres is not None:
            self._postgres.close()
            self._postgres = None

    def _redis_answers(self) -> bool | None:
        if not settings.REDIS_URL:
            return None
        from redis import ResponseError

        self._redis = self._redis or connect(settings.REDIS_URL)
        try:
            was_there = self._redis.set(self._mark, 1, ex=MARK_SECONDS, get=True)
        except ResponseError:  # Redis is full, but it answers
            return True
        except redis_failures():
            return False
        if self._is_marked and not was_there:
            logger.warning("Redis has lost its data")
            for action in self._when_redis_is_lost:
                action()
        self._is_marked = True
        return True


def _renew_connections() -> None:
    """Closes connections from before the start, which have no lock and statement timeouts yet."""
    postgres = connections[DEFAULT_DB_ALIAS]
    if postgres.vendor == "postgresql":
        postgres.close()
        postgres.close_pool()  # type: ignore[attr-defined]


readiness = Readiness()
