"""listFiles: the paths of the scope."""

from collections.abc import Mapping
from typing import Any

from gateway.connectors.codebase.query.file_names import named, written
from gateway.connectors.codebase.query.query_result import FILES, HasLeft, QueryResult
from gateway.connectors.codebase.query.sources import Sources


def list_files(query: Mapping[str, Any], sources: Sources, has_left: HasLeft) -> QueryResult:
    after, limit = named(query.get("after", "")), query["limit"]
    following = [path for path in sources.paths if path > after]
    shown = following[:limit]
    more = len(following) > limit
    next_query = {**query, "after": written(shown[-1])} if more else None
    return QueryResult(FILES, [{"path": path} for path in shown], len(following), has_more=more, next_query=next_query)
