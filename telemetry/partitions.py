"""Day partitions of the calls on Postgres: dropping a day takes milliseconds, deleting its rows would take minutes.

SQLite has no partitions; there, `ensure` and `drop_before` do nothing. Rows of a day without a partition go to the
default partition, so a call is stored even if `ensure` has not run.
"""

import re
from datetime import UTC, date, datetime, timedelta

from django.db import connection, transaction

TABLE = "telemetry_telemetryrecord"
DEFAULT = f"{TABLE}_default"
AHEAD = 3  # days that have a partition before they begin
_NAME = re.compile(rf"{TABLE}_(\d{{8}})")


def ensure(today: date, ahead: int = AHEAD) -> None:
    """Creates the partitions of today and of the next days, if they are missing."""
    if connection.vendor != "postgresql":
        return
    existing = set(days())
    for day in (today + timedelta(days=n) for n in range(ahead + 1)):
        if day not in existing:
            create(day)


def create(day: date) -> None:
    """Creates the partition of a day, and moves that day's rows there from the default partition."""
    since, until = day.isoformat(), (day + timedelta(days=1)).isoformat()
    name = f"{TABLE}_{day:%Y%m%d}"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (LIKE {TABLE} INCLUDING DEFAULTS)")
        cursor.execute(
            f"WITH moved AS (DELETE FROM {DEFAULT} WHERE created_at >= %s AND created_at < %s RETURNING *) "  # noqa: S608 (names of our own)
            f"INSERT INTO {name} SELECT * FROM moved",
            [f"{since} 00:00+00", f"{until} 00:00+00"],
        )
        cursor.execute(
            f"ALTER TABLE {TABLE} ATTACH PARTITION {name} FOR VALUES FROM ('{since} 00:00+00') TO ('{until} 00:00+00')"
        )


def drop_before(limit: datetime) -> int:
    """Drops the partitions that ended by `limit`; returns how many."""
    if connection.vendor != "postgresql":
        return 0
    expired = [day for day in days() if datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1) <= limit]
    for day in expired:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {TABLE}_{day:%Y%m%d}")
    return len(expired)


def days() -> list[date]:
    """The days that have a partition, in order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass", [TABLE])
        names = [_NAME.search(name) for (name,) in cursor.fetchall()]
    return sorted(datetime.strptime(found[1], "%Y%m%d").replace(tzinfo=UTC).date() for found in names if found)
