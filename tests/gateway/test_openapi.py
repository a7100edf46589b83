"""The REST door's OpenAPI document says what its operations take."""

import pytest
from django.test import Client, override_settings

from gateway.catalog.catalog import catalogue

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def document() -> dict[str, object]:
    with override_settings(PUBLIC_PAGES=True):
        return Client().get("/api/schema/", headers={"Accept": "application/json"}).json()


def test_every_operation_is_described_with_its_arguments(document: dict[str, dict[str, dict[str, dict[str, object]]]]):
    for operation in catalogue:
        if "/tools/" in operation.endpoint:
            continue  # one address for all that have none of their own
        described = document["paths"][operation.endpoint]["get"]
        assert described["operationId"] == operation.name
        names = {parameter["name"] for parameter in described["parameters"]}  # type: ignore[attr-defined]
        assert set(operation.parameters) <= names
        assert {"cursor"} <= names


def test_calls_need_a_key_and_older_addresses_are_not_advertised(document: dict[str, dict[str, object]]):
    assert document["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"  # type: ignore[index]
    assert not [path for path in document["paths"] if not path.startswith("/api/v1/")]
