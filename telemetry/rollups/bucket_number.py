"""The number of the bucket that a call falls into, computed in the database."""

from typing import Any

from django.db.models import Func, IntegerField


class BucketNumber(Func):
    output_field = IntegerField()
    template = "FLOOR((EXTRACT(EPOCH FROM %(expressions)s) - %(start)d) / %(seconds)d)::integer"

    def __init__(self, *expressions: Any, start: int, seconds: int) -> None:
        super().__init__(*expressions, start=start, seconds=seconds)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        # The text up to whole seconds: SQLite rounds 12:00:59.9996 up, into the next bucket.
        template = "(CAST(strftime('%%%%s', substr(%(expressions)s, 1, 19)) AS INTEGER) - %(start)d) / %(seconds)d"
        return super().as_sql(compiler, connection, template=template, **context)
