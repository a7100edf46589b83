"""The number of the bucket that a call falls into, computed in the database."""

from typing import Any

from django.db.models import Func, IntegerField


class BucketNumber(Func):
    output_field = IntegerField()
    template = "FLOOR((EXTRACT(EPOCH FROM %(expressions)s) - %(start)d) / %(seconds)d)::integer"

    def __init__(self, *expressions: Any, start: int, seconds: int) -> None:
        super().__init__(*expressions, start=start, seconds=seconds)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "(CAST(strftime('%%%%s', %(expressions)s) AS INTEGER) - %(start)d) / %(seconds)d"
        return super().as_sql(compiler, connection, template=template, **context)
