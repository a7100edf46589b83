"""Django's Postgres backend, with bounded waits for a server that is down or frozen.

A query may run until its call times out, but after a wait of LONG_SECONDS it requests a check of the server
(gateway/process/readiness.py). If the server does not answer the check, the query ends and its connection is dropped.
Until the server answers again, new queries fail at once.
"""

import select
import time
from collections.abc import Generator
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg_pool import PoolTimeout

from gateway.process.database_reach import database

POOL_SLICE = 0.25  # seconds between checks for a down server, in a thread that waits for a connection
POOL_SECONDS = 10.0  # maximum wait for a connection while the server answers
LOCK_SECONDS = 1.0  # maximum wait for a lock that another transaction holds
STATEMENT_SECONDS = 600.0  # the longest timeout that ops can set for a call
LONG_SECONDS = 0.3  # a query that waits longer requests a check of the server

_AWAY = "the server does not answer"


class BoundedConnection(psycopg.Connection[Any]):
    """Waits only while the server is up."""

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().wait(_while_server_is_up(gen), *args, **kwargs)
        except _ServerDown:
            self.close()
            raise psycopg.OperationalError(_AWAY) from None


class _ServerDown(Exception):
    """The server went down during a query."""


def _while_server_is_up(waiting: Any) -> Generator[Any, Any, Any]:
    """Wraps the driver's generator, and ends it when the server is down. While the server sends no data, psycopg
    resumes it about ten times a second with an empty value."""
    began = time.monotonic()
    try:
        wanted = next(waiting)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() - began > LONG_SECONDS:
                if database.is_away:
                    raise _ServerDown
                database.suspect()
            wanted = waiting.send(ready)
    except StopIteration as end:
        return end.value


class DatabaseWrapper(base.DatabaseWrapper):
    def _configure_connection(self, connection: psycopg.Connection[Any]) -> bool:
        """Called once for each connection of the pool. In processes that answer calls, sets timeouts for locks and
        statements; tasks and migrations have neither."""
        changed: bool = super()._configure_connection(connection)  # type: ignore[misc]
        if database.is_watched:
            for name, seconds in (("lock_timeout", LOCK_SECONDS), ("statement_timeout", STATEMENT_SECONDS)):
                connection.execute("SELECT set_config(%s, %s, false)", [name, str(int(seconds * 1000))])
        return changed

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Raises psycopg.OperationalError, immediately if the server is known to be down."""
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
            self.pool.putconn(connection)  # the pool then creates another
        raise psycopg.OperationalError(_AWAY)


def _is_open(connection: psycopg.Connection[Any]) -> bool:
    """Whether a connection from the pool has no unread data: a server that shuts down sends a message and closes the
    connection."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return not poll.poll(0)
