"""Marks of buckets whose rollups must be built again.

A writer counts a mark up even if it exists, so it locks the mark's row until its calls are committed. The builder locks
the mark too before it replaces rollups. It then sees a changed count, and rebuilds the bucket the next time.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import connection

from telemetry.models.rollups import Level, StaleBucket

TABLE = StaleBucket._meta.db_table
ADD = (
    f"INSERT INTO {TABLE} (level, start, marks) VALUES (%s, %s, %s) "  # noqa: S608 (names of our own)
    f"ON CONFLICT (level, start) DO UPDATE SET marks = {TABLE}.marks + excluded.marks"
)


def mark(moments: Iterable[datetime], level: Level = Level.MINUTE) -> None:
    """Marks the buckets that the moments fall into, in order of time, so that two writers cannot deadlock."""
    counts = Counter(floor(moment, level) for moment in moments)
    adapt = connection.ops.adapt_datetimefield_value
    with connection.cursor() as cursor:
        cursor.executemany(ADD, [(level, adapt(start), count) for start, count in sorted(counts.items())])


def floor(moment: datetime, level: int) -> datetime:
    """The start of the bucket of `level` seconds that the moment falls into. Days begin at midnight UTC."""
    seconds = int(moment.timestamp())
    return datetime.fromtimestamp(seconds - seconds % level, UTC)
