"""A repeated request of the REST API: the same response without Django, as long as it is the right one."""

from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator

from gateway.access.models import ApiKey
from gateway.api.repeated_requests import RepeatedRequests
from gateway.process.handler import PooledHandler
from gateway.threads.bridge import run_sync
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests.caches import keep_responses
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)

LISTINGS = "/api/v1/listings"


class Counted:
    """How many requests reach Django."""

    def __init__(self) -> None:
        self.count = 0
        self.application = RepeatedRequests(self._django)
        self._handler = PooledHandler()

    async def _django(self, scope: Any, receive: Any, send: Any) -> None:
        self.count += 1
        await self._handler(scope, receive, send)

    async def get(self, key: str, path: str = LISTINGS, query: bytes = b"limit=2", **headers: str) -> tuple[Any, bytes]:
        fields = {"host": "testserver", "authorization": f"Bearer {key}", "user-agent": "tests/1", **headers}
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query,
            "scheme": "http",
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()],
        }
        communicator = ApplicationCommunicator(self.application, scope)
        await communicator.send_input({"type": "http.request", "body": b"", "more_body": False})
        start, body = await communicator.receive_output(20), await communicator.receive_output(20)
        await communicator.wait(PATIENCE)
        return (start["status"], sorted((name.lower(), value) for name, value in start["headers"])), body["body"]


@pytest.fixture
def django(db: None, monkeypatch: pytest.MonkeyPatch) -> Counted:
    keep_responses(monkeypatch)
    return Counted()


async def test_the_same_response_comes_without_django(django: Counted, api_key: str):
    first, second = await django.get(api_key), await django.get(api_key)
    assert first == second
    assert first[0][0] == 200
    assert django.count == 1


OTHERS: list[dict[str, Any]] = [
    {"query": b"limit=3"},
    {"path": "/api/v1/bookings"},
    {"accept": "text/html"},
    {"host": "localhost"},
    {"cookie": "a=b"},
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
async def test_any_other_request_goes_to_django(django: Counted, api_key: str, other: dict[str, Any]):
    await django.get(api_key)
    await django.get(api_key, **other)
    assert django.count == 2


async def test_ids_of_a_request_make_no_other_one(django: Counted, api_key: str):
    await django.get(api_key, x_request_id="first-request")
    await django.get(api_key, x_request_id="second-request")
    assert django.count == 1


async def test_another_key_gets_its_own_response(django: Counted, api_key: str):
    _, other = await run_sync(ApiKey.objects.issue, "another")
    (_, first), (_, second) = await django.get(api_key), await django.get(other)
    assert django.count == 2
    assert first != second, "cursors belong to a key"


async def test_a_revoked_key_is_rejected_at_once(django: Counted, api_key: str):
    await django.get(api_key)
    await run_sync(lambda: ApiKey.objects.get().revoke())
    (status, _), _ = await django.get(api_key)
    assert status == 401


async def test_errors_are_not_repeated(django: Counted, api_key: str):
    for _ in range(2):
        (status, _), _ = await django.get(api_key, query=b"limit=0")
        assert status == 400
    assert django.count == 2


async def test_each_request_is_recorded(django: Counted, api_key: str):
    for _ in range(3):
        await django.get(api_key)
    await run_sync(recorder.flush)
    figures = TelemetryRecord.objects.order_by("created_at").values_list("operation", "is_cached", "client")
    assert await run_sync(list, figures) == [("list_listings", cached, "tests") for cached in (False, True, True)]
