"""Revision numbers that change when configuration or stored contents change. During a call, every process reads the
current number without a database query.

Embedded deployments use the mtime of a file beside the database. One stat takes a microsecond, so the very next call in
any process sees a change. Production uses a database row that is announced over Redis. A save waits up to
ANNOUNCE_SECONDS for every listening process to read the new number, so that the very next call sees it there too. In
case an announcement is lost, all processes also poll every second.
"""

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import Model
from django.db.models.signals import post_delete, post_save

from context_protection.core.cached_property import cached_property
from context_protection.models import Revision
from context_protection.stores.lazy_redis import connect, redis_failures
from context_protection.stores.shared_store import deployment, shared_url

if TYPE_CHECKING:
    import redis

logger = logging.getLogger(__name__)
ANNOUNCE_SECONDS = 0.3
POLL_SECONDS = 1.0
RETRY_SECONDS = 0.5  # between polls while Redis cannot be reached
CACHE_SECONDS = 0.001  # shorter than the time from a change in another process to the next call


class Scope(IntEnum):
    """What a revision number counts: changes of the configuration, or of stored contents.

    The value is the primary key of the revision's database row."""

    CONFIGURATION = 1
    CONTENTS = 2


class Revisions(Protocol):
    @property
    def confirmed_at(self) -> float:
        """time.monotonic() when the number was last known to be current."""

    @property
    def confirmed(self) -> tuple[int, int] | None:
        """How many processes have confirmed this process's last announcement, and how many listen. None if nothing was
        announced; other processes then notice the change when they next read the number."""

    def current(self) -> int: ...

    def bump(self) -> None: ...


class FileRevisions:
    """The file's mtime, cached for CACHE_SECONDS because one call reads it several times."""

    confirmed: tuple[int, int] | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = (0.0, 0)  # valid until (time.monotonic()), revision

    @property
    def confirmed_at(self) -> float:
        return time.monotonic()

    def current(self) -> int:
        until, revision = self._seen
        now = time.monotonic()
        if now < until:
            return revision
        try:
            revision = os.stat(self.path).st_mtime_ns
        except FileNotFoundError:
            revision = 0
        self._seen = now + CACHE_SECONDS, revision
        return revision

    def bump(self) -> None:
        self._seen = (0.0, 0)
        self.path.touch(0o600)
        now = time.time_ns()  # file system timestamps are too coarse to tell two quick changes apart
        os.utime(self.path, ns=(now, now))
        self._seen = (0.0, 0)


class SharedRevisions:
    """Kept current by one thread per process. `redis_url`: empty to poll only; None for the shared store's."""

    def __init__(self, redis_url: str | None = None, of: Scope = Scope.CONFIGURATION) -> None:
        self._redis_url = redis_url
        self.of = of
        self.confirmed: tuple[int, int] | None = None
        self._number = 0
        self._last_poll_succeeded = True
        self._confirmed_at = 0.0
        self._listening_in: int | None = None
        self._lock = threading.Lock()

    @property
    def confirmed_at(self) -> float:
        """The time at which the number was last confirmed. Before this process listens, the current time, because it
        has not used any number yet."""
        return self._confirmed_at if self._listening_in == os.getpid() else time.monotonic()

    def current(self) -> int:
        if self._listening_in != os.getpid():
            self._listen()
        return self._number

    def bump(self) -> None:
        self._number, self.confirmed = Revision.objects.advance(self.of), None
        if self.redis_url:
            try:
                self._announce(self._number)
            except redis_failures() as error:  # other processes poll anyway
                logger.warning("revision not announced", extra={"error": str(error)})

    def _announce(self, number: int) -> None:
        """Waits up to ANNOUNCE_SECONDS for all listeners to confirm. The others poll within a second."""
        confirmations = f"{self.channel}:{number}"
        deadline = time.monotonic() + ANNOUNCE_SECONDS
        listening, confirmed = int(self._redis.publish(self.channel, number)), 0
        while confirmed < listening:
            if not self._redis.blpop([confirmations], timeout=max(deadline - time.monotonic(), 0.01)):
                break
            confirmed += 1
        self.confirmed = confirmed, listening
        self._redis.delete(confirmations)

    def _listen(self) -> None:
        with self._lock:
            if self._listening_in == os.getpid():
                return
            self._number, self._confirmed_at = self._read(), time.monotonic()
            threading.Thread(target=self._follow, name="revisions", daemon=True).start()
            self._listening_in = os.getpid()

    def _follow(self) -> None:
        while True:
            try:
                self._follow_announcements() if self.redis_url else time.sleep(POLL_SECONDS)
            except redis_failures() as error:
                logger.warning("revision announcements interrupted", extra={"error": str(error)})
                time.sleep(RETRY_SECONDS)
            self._poll()

    def _follow_announcements(self) -> None:
        with self._redis.pubsub(ignore_subscribe_messages=True) as announcements:  # type: ignore[no-untyped-call]
            announcements.subscribe(self.channel)
            while True:
                self._poll()
                announcement = announcements.get_message(timeout=POLL_SECONDS)
                if announcement:
                    self._poll()
                    confirmations = f"{self.channel}:{int(announcement['data'])}"
                    self._redis.rpush(confirmations, os.getpid())
                    self._redis.expire(confirmations, 10)

    def _poll(self) -> None:
        try:
            self._number = self._read()
            self._last_poll_succeeded, self._confirmed_at = True, time.monotonic()
        except Exception as error:  # the database is down: the last known configuration remains in use
            if self._last_poll_succeeded:
                logger.warning("revision not read", extra={"error": type(error).__name__})
            self._last_poll_succeeded = False
        finally:
            close_old_connections()

    def _read(self) -> int:
        return Revision.objects.number(self.of)

    @property
    def redis_url(self) -> str:
        return shared_url() if self._redis_url is None else self._redis_url

    @property
    def _redis(self) -> "redis.Redis":
        return connect(self.redis_url)

    @cached_property
    def channel(self) -> str:
        """Unique for each deployment, because Redis channels span all databases of a server."""
        return f"sluice:revision:{self.of}:{deployment()}"


def _configured(of: Scope) -> Revisions:
    if getattr(settings, "SHARED_REVISIONS", False):
        return SharedRevisions(of=of)
    path = Path(settings.REVISION_FILE)
    return FileRevisions(path if of is Scope.CONFIGURATION else path.with_name(of.name.lower()))


revisions = _configured(Scope.CONFIGURATION)
contents = _configured(Scope.CONTENTS)


def bump_when_changed(model: type[Model]) -> None:
    """Declares that the model's rows are configuration: every committed change of a row bumps the revision."""
    post_save.connect(bump_on_commit, sender=model)
    post_delete.connect(bump_on_commit, sender=model)


def bump_on_commit(**_: object) -> None:
    if not _is_one_change.get():
        transaction.on_commit(revisions.bump, using=connection.alias)


_is_one_change: ContextVar[bool] = ContextVar("is_one_change", default=False)


@contextmanager
def one_change() -> Iterator[None]:
    """Announces everything that is saved in this block as one change, once, on commit. Enter it inside a
    transaction."""
    token = _is_one_change.set(True)
    try:
        yield
    finally:
        _is_one_change.reset(token)
    bump_on_commit()


def contents_changed() -> None:
    """Bumps the revision of contents on commit. Call it in the transaction that changes stored contents."""
    transaction.on_commit(contents.bump, using=connection.alias)
