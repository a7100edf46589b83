"""The job of a child process for dbp_general_query. Needs no Django."""

from gateway.connectors.codebase.budget import Limits
from gateway.connectors.codebase.model.draft import Draft
from gateway.connectors.codebase.place import ProjectPlace
from gateway.connectors.codebase.query.request import QueryRequest


def query_work(place: ProjectPlace, request: QueryRequest, for_model: bool, limits: Limits) -> Draft:
    """See `answer_query`."""
    from gateway.connectors.codebase.query.answer import answer_query  # only in the child process

    return answer_query(place, request, limits.budget(), for_model=for_model)
