"""The settings in force over REST, and files that are tried without being used (FR-024, "dry-run config")."""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from context_protection.configuration.revisions import revisions
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey

pytestmark = pytest.mark.django_db
YAML = "application/yaml"


@pytest.fixture
def reader() -> dict[str, str]:
    return {"Authorization": f"Bearer {ApiKey.objects.issue('deployer', may_read_configuration=True)[1]}"}


def validation(
    body: str, reader: dict[str, str], media_type: str = YAML, address: str = "/api/v1/config/validate"
) -> Any:
    response = Client().post(address, body, content_type=media_type, headers=reader)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("address", ["/api/v1/config", "/config"])
def test_a_key_needs_the_mark_and_staff_the_permission(address: str, api_key: str, reader: dict[str, str]):
    assert Client().get(address).status_code == 401
    refused = Client().get(address, headers={"Authorization": f"Bearer {api_key}"})
    assert (refused.status_code, refused.json()["error"]["reason"]) == (403, "configuration_not_allowed")
    assert "May read configuration" in refused.json()["error"]["data"]["suggestion"]
    assert Client().get(address, headers=reader).status_code == 200
    users, browser = get_user_model()._default_manager, Client()
    browser.force_login(users.create_user("guest", is_staff=True))
    assert browser.get(address).status_code == 403
    assert browser.post(f"{address}/validate", "global: {}\n", content_type=YAML).status_code == 403
    browser.force_login(users.create_superuser("root"))
    assert browser.get(address).status_code == 200


def test_every_value_says_where_it_comes_from(reader: dict[str, str]):
    TokenBudget.objects.create(operation="list_*", default_page_size=20)
    TokenBudget.objects.create(caller="desk", default_page_size=30)
    revisions.bump()

    def page_size(**query: str) -> Any:
        document = Client().get("/api/v1/config", query, headers=reader).json()
        return [each["settings"]["defaultPageSize"] for each in document["effective"]]

    of_pattern = {"value": 20, "layer": "admin", "scope": "list_*", "line": None}
    of_caller = {"value": 30, "layer": "admin", "scope": "all operations, caller desk", "line": None}
    default = {"value": 50, "layer": "default", "scope": None, "line": None}
    assert page_size(operation="list_bookings") == [of_pattern]
    assert page_size(operation="list_bookings", caller="desk") == [of_caller]
    assert page_size(operation="list_bookings", caller="someone") == [of_pattern]
    assert page_size(operation="get_booking") == [default]
    assert all(each == of_caller for each in page_size(caller="desk"))
    everything = page_size()
    assert [each for each in (default, of_pattern, of_caller) if each not in everything] == []


def test_an_operation_that_does_not_exist_is_corrected(reader: dict[str, str]):
    response = Client().get("/api/v1/config", {"operation": "get_bookin"}, headers=reader)
    assert response.status_code == 404
    assert response.json()["error"]["data"]["suggestion"] == "Set name to get_booking."


def test_a_valid_file_says_what_it_would_change_and_changes_nothing(reader: dict[str, str]):
    found = validation("operations:\n  get_booking: {hardCap: 9000}\n  get_bookin: {}\n", reader)
    change = {"operation": "get_booking", "caller": None, "setting": "hardCap", "before": 12_000, "after": 9000}
    assert found == {"valid": True, "problems": [], "warnings": [], "changes": [change]}
    effective = Client().get("/api/v1/config", {"operation": "get_booking"}, headers=reader).json()["effective"]
    assert effective[0]["settings"]["hardCap"]["value"] == 12_000


@pytest.mark.parametrize("address", ["/api/v1/config/validate", "/config/validate"])
def test_an_invalid_file_is_explained_with_key_and_line(reader: dict[str, str], address: str):
    (problem,) = validation("global:\n  hardCap: 10\n", reader, address=address)["problems"]
    assert problem == {
        "line": 2,
        "key": "global.hardCap",
        "message": "global: hardCap is 10; it must be from 1,000 to 25,000.",
    }


def test_json_is_read_as_json(reader: dict[str, str]):
    assert validation(json.dumps({"global": {"hardCap": 9000}}), reader, "application/json")["valid"]
    (problem,) = validation("global: {}\n", reader, "application/json")["problems"]
    assert "This is not JSON" in problem["message"]


@pytest.mark.parametrize("body", ["", "\0\0\n", "a: &a [1]\nb: *a\n", "#" * 2_000_000])
def test_odd_bodies_are_problems_and_no_errors(reader: dict[str, str], body: str):
    found = validation(body, reader)
    assert not found["valid"]
    assert len(found["problems"]) == 1
