"""A connection to Postgres for checks, outside the pool."""

from typing import Any

import psycopg

from gateway.process.database_reach import ANSWER_SECONDS


class ConnectionWithDeadline(psycopg.Connection[Any]):
    """Every query times out after ANSWER_SECONDS."""

    def wait(self, gen: Any, *args: Any, **kwargs: Any) -> Any:
        return super().wait(gen, *args, **{**kwargs, "timeout": ANSWER_SECONDS})
