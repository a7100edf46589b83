"""Django's backend for Postgres, with an end to each wait for a server that is away or frozen.

A query may take as long as its call is given. But one that has waited for a while asks for a look at the server
(gateway/process/readiness.py), and where that answers nothing at all, the query ends and its connection is dropped.
Until the server answers again, nobody waits for it.
"""

import select
import time
from collections.abc import Generator
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout

from gateway.process.database_reach import database

POOL_SLICE = 0.25  # seconds after which who waits for a connection looks whether it is still worth it
POOL_SECONDS = 10.0  # for a connection of a server that answers
LOCK_SECONDS = 1.0  # for somebody else's lock
STATEMENT_SECONDS = 600.0  # the most that ops can give a call
LONG_SECONDS = 0.3  # after which a query asks for a look at the server

_AWAY = "the server does not answer"


class Connection(psycopg.Connection[Any]):
    """Waits for as long as the server is there."""

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().wait(_while_there(gen), *args, **kwargs)
        except _Away:
            self.close()
            raise psycopg.OperationalError(_AWAY) from None


class _Away(Exception):
    """Of the server, in the midst of a query."""


def _while_there(waiting: Any) -> Generator[Any, Any, Any]:
    """The driver's own generator; it is resumed with nothing ten times a second while the server says nothing."""
    began = time.monotonic()
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() - began > LONG_SECONDS:
                if database.is_away:
                    raise _Away
                database.suspect()
            wanted = waiting.send(ready)
    except StopIteration as end:
        return end.value


class DatabaseWrapper(base.DatabaseWrapper):
    def _configure_connection(self, connection: psycopg.Connection[Any]) -> bool:
        """Once for each connection of the pool. Where calls are answered, no thread waits long for a lock, and none for
        ever: tasks and migrations may."""
        changed: bool = super()._configure_connection(connection)  # type: ignore[misc]
        if database.is_looked_at:
            for name, seconds in (("lock_timeout", LOCK_SECONDS), ("statement_timeout", STATEMENT_SECONDS)):
                connection.execute("SELECT set_config(%s, %s, false)", [name, str(int(seconds * 1000))])
        return changed

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Raises psycopg.OperationalError: at once while the server is known to be away."""
        deadline = time.monotonic() + POOL_SECONDS
        while not database.is_away:
            try:
                connection = super().get_new_connection(conn_params)
            except PoolTimeout:
                database.suspect()
                if time.monotonic() > deadline:
                    raise
                continue
            if not self.pool or _is_open(connection):
                return connection
            connection.close()
            self.pool.putconn(connection)  # which makes another
        raise psycopg.OperationalError(_AWAY)


def _is_open(connection: psycopg.Connection[Any]) -> bool:
    """Whether nothing has come on a connection that waits in the pool: a server that ends says so, and closes it."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)
