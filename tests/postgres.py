"""Postgres between tests that commit: its tables are emptied, and the sample account is put back, in a tenth of a
second. Truncating the tables takes 1 s, because Postgres makes new files for each of them and its indexes; loading the
account takes another."""

from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.backends.postgresql.operations import DatabaseOperations
from psycopg import sql

KEPT = "sample_account"  # a schema with copies of the tables that have rows


def save_account() -> None:
    """Keeps the sample account of the connected database."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(KEPT)))
        for name in _tables():
            cursor.execute(sql.SQL("CREATE TABLE {} AS TABLE {}").format(_kept(name), sql.Identifier(name)))


def copy_account() -> bool:
    """Puts it back into empty tables. False if it was not saved."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [KEPT])
        if cursor.fetchone() is None:
            return False
        for name in _tables():
            cursor.execute(sql.SQL("INSERT INTO {} SELECT * FROM {}").format(sql.Identifier(name), _kept(name)))
    return True


def deletions(
    self: DatabaseOperations, style: Any, tables: list[str], *, reset_sequences: bool = False, **_: object
) -> list[str]:
    """Django's `sql_flush`, with DELETE. Constraints are checked when the transaction ends."""
    assert not reset_sequences
    return [sql.SQL("DELETE FROM {}").format(sql.Identifier(name)).as_string() for name in tables]


def _tables() -> list[str]:
    return [model._meta.db_table for model in apps.get_app_config("hostaway").get_models()]


def _kept(table: str) -> sql.Identifier:
    return sql.Identifier(KEPT, table)
