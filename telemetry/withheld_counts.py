"""Counts redacted values by day, tool and field. Runs on the writer thread; never sees a value itself."""

from collections import Counter
from collections.abc import Iterable

from django.db import connection

from telemetry.measurement import Measurement
from telemetry.models import WithheldField

MAX_FIELDS = 200  # the most fields of one response that are counted
FIELD = WithheldField._meta.get_field("field").max_length or 0
KIND = WithheldField._meta.get_field("kind").max_length or 0
ADD = (
    f"INSERT INTO {WithheldField._meta.db_table} (day, operation, field, kind, how, count) "  # noqa: S608 (our own names)
    "VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (day, operation, field, kind, how) "
    f"DO UPDATE SET count = {WithheldField._meta.db_table}.count + excluded.count"
)


def count(calls: Iterable[Measurement]) -> None:
    """Adds the redacted fields of these calls to the counts of their days."""
    found: Counter[tuple[str, str, str, str, str]] = Counter()
    for call in calls:
        day = call.at.date().isoformat()
        for each in call.withheld[:MAX_FIELDS]:
            found[day, call.operation, _text(each.field, FIELD), _text(each.kind, KIND), each.how] += each.count
    if found:
        with connection.cursor() as cursor:  # sorted, so that two writers cannot deadlock
            cursor.executemany(ADD, [(*key, number) for key, number in sorted(found.items())])


def _text(text: str, length: int) -> str:
    return text[:length].replace("\x00", "")
