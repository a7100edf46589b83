"""Whatever is wrong with a request to the REST door, its answer is the one error body, with the right status."""

from typing import Any

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db

TOOL = "/api/v1/tools/list_bookings"
LIST = "/api/v1/bookings"


@pytest.mark.parametrize(
    ("method", "address", "options", "status", "reason"),
    [
        ("post", TOOL, {"data": "{", "content_type": "application/json"}, 400, "invalid_json"),
        ("post", TOOL, {"data": b"\xff", "content_type": "application/json"}, 400, "invalid_json"),
        ("post", TOOL, {"data": '{"a": NaN}', "content_type": "application/json"}, 400, "invalid_json"),
        ("post", TOOL, {"data": "[" * 10_000, "content_type": "application/json"}, 400, "too_deep"),
        ("post", TOOL, {"data": "a=b", "content_type": "text/plain"}, 415, "unsupported_media_type"),
        ("put", TOOL, {}, 405, "method_not_allowed"),
        ("put", LIST, {}, 405, "method_not_allowed"),
        ("delete", f"{LIST}/43000000", {}, 405, "method_not_allowed"),
    ],
)
def test_a_bad_request_is_answered_in_the_one_form(
    api_key: str, method: str, address: str, options: dict[str, Any], status: int, reason: str
):
    response = getattr(Client(), method)(address, headers={"Authorization": f"Bearer {api_key}"}, **options)
    assert response.status_code == status
    error = response.json()["error"]
    assert error["reason"] == reason
    assert error["data"]["suggestion"]
    assert len(response.content) < 2000


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer slc_wrong"}, {"Authorization": "Basic x"}])
def test_without_a_key_every_address_says_how_to_get_one(headers: dict[str, str]):
    for address in (LIST, f"{LIST}/1", "/api/v1/documents/x"):
        response = Client().get(address, headers=headers)
        assert response.status_code == 401
        assert response.headers["WWW-Authenticate"] == 'Bearer realm="sluice"'
        assert "apikey create" in response.json()["error"]["data"]["suggestion"]
