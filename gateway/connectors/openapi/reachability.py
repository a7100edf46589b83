"""The test that staff start for an imported API: one GET of its base address, or of an operation."""

import time
from dataclasses import dataclass, replace

from gateway.connectors.openapi.models import ImportedOperation
from gateway.connectors.openapi.request import requests
from gateway.connectors.reachability import Reachability
from gateway.upstreams.connections import Connection
from gateway.upstreams.errors import UpstreamCredentials, UpstreamError
from gateway.upstreams.registry import new_upstream
from gateway.upstreams.request import Request

PATIENCE = 20.0  # seconds
BASE_ADDRESS_IS_EMPTY = (
    "That is usual for a base address. Choose an operation under “Test with” to see whether its tools work."
)


@dataclass(frozen=True, slots=True)
class _Tested:
    """`is_base`: the request is for the base address, at which an API need not have anything."""

    request: Request
    is_base: bool


async def try_connection(connection: Connection, operation: ImportedOperation | None) -> Reachability:
    """Sends one request, without retries and regardless of earlier failures. `operation`: one without required
    arguments; None tests the base address."""
    hurried = replace(connection, attempts=1, total_seconds=min(connection.total_seconds, PATIENCE))
    tested = _tested(connection, operation)
    began = time.perf_counter()

    def found(**words: str) -> Reachability:
        return Reachability(f"API {connection.name}", round((time.perf_counter() - began) * 1000), **words)

    try:
        response = await new_upstream(hurried).fetch(tested.request)
    except UpstreamError as error:
        return found(**_in_words(error, tested))
    return found(answer=f"status {response.status}")


def _tested(connection: Connection, operation: ImportedOperation | None) -> _Tested:
    if operation is None:
        return _Tested(Request("GET", connection.base_url), is_base=True)
    return _Tested(requests.build(operation.documented, {}, connection.base_url), is_base=False)


def _in_words(error: UpstreamError, tested: _Tested) -> dict[str, str]:
    status = (error.upstream or {}).get("status", 0)
    is_rejected = isinstance(error, UpstreamCredentials) or status == 429
    if tested.is_base and 400 <= status < 500 and not is_rejected:
        return {"answer": f"status {status}", "advice": BASE_ADDRESS_IS_EMPTY}
    quoted = (error.upstream or {}).get("message", "")
    message = error.message if not status or str(status) in error.message else f"{error.message} (Status {status}.)"
    return {"failure": f"{message} It says: “{quoted}”" if quoted else message}


def testable(api: int) -> list[tuple[int, str]]:
    """The ids and names of the operations of an upstream that can be tested: they only read and need no arguments."""
    rows = ImportedOperation.objects.filter(api__upstream=api, key__startswith="GET ", is_gone=False)
    found = rows.order_by("-enabled", "name").values_list("pk", "name", "spec__required")
    return [(pk, name) for pk, name, required in found if not required]
