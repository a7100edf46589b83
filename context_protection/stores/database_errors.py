"""Classifies database errors: the database is down, or the statement is wrong."""

import sqlite3

from django.db import InterfaceError, OperationalError

_SQLITE = frozenset(
    (
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
    )
)
# SQLSTATE classes: connection, insufficient resources, operator intervention, system error; then single codes.
_POSTGRES_CLASSES = ("08", "53", "57", "58")
_LOCKED, _READ_ONLY, _STOPPED_BY_US = "55P03", "25006", "57014"


def means_unavailable(error: BaseException) -> bool:
    """Whether the same statement may succeed later: the database is down, locked, read-only or full. False for a
    statement that is wrong or that was cancelled for taking too long."""
    cause = error.__cause__ or error
    code = getattr(cause, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE
    state = getattr(cause, "sqlstate", None)
    if state:
        return state in (_LOCKED, _READ_ONLY) or (state.startswith(_POSTGRES_CLASSES) and state != _STOPPED_BY_US)
    return isinstance(error, OperationalError | InterfaceError)
