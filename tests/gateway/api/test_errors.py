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


@pytest.mark.parametrize(
    ("count", "sent"),
    [
        (
            20_001,
            {"data": "&".join(f"f{n}=1" for n in range(20_001)), "content_type": "application/x-www-form-urlencoded"},
        )
    ],
)
def test_a_form_of_too_many_fields_is_refused_in_words(client, db, count: int, sent: dict[str, str]):
    answer = client.post("/admin/login/", **sent)
    error = answer.json()["error"]
    assert (answer.status_code, error["reason"]) == (400, "too_many_fields")
    assert "20,000" in error["data"]["expected"]


def test_a_query_string_of_too_many_fields_is_refused_in_words(client, db, api_key: str):
    query = "&".join(f"f{n}=" for n in range(20_001))
    answer = client.get(f"{LIST}?{query}", headers={"Authorization": f"Bearer {api_key}"})
    assert (answer.status_code, answer.json()["error"]["reason"]) == (400, "too_many_fields")
