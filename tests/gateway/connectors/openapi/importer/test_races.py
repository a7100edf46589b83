"""Two who import the same API at once: one of them is first, the other is told, and nothing is half stored."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from context_protection.core.errors import InvalidArgument
from gateway.connectors.openapi.importer import import_plan
from gateway.connectors.openapi.models import ImportDraft, ImportedApi, ImportedOperation
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.django_db
MEANWHILE = "In the meantime somebody else has imported an API with this name"


@pytest.fixture
def api(settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = True
    with shop() as simulated:
        yield simulated
    retain(())


def planned(document: dict[str, Any]) -> import_plan.Plan:
    return import_plan.plan(json.dumps(document).encode(), name="shop", source="shop.json")


def with_extra(api: Shop, without: str = "") -> dict[str, Any]:
    document = api.document
    document["paths"].pop(without, None)
    document["paths"]["/extra"] = {"get": {"operationId": "extra", "responses": {}}}
    document["info"]["title"] = "Another"
    return document


def stored() -> list[tuple[str, str, bool]]:
    return list(ImportedOperation.objects.order_by("key").values_list("key", "name", "enabled"))


@pytest.mark.parametrize("is_known", [False, True])
def test_what_was_looked_at_before_another_import_is_not_stored(api: Shop, is_known: bool):
    if is_known:
        import_plan.store(planned(api.document), chosen=())
    first, second = planned(api.document), planned(with_extra(api))
    import_plan.store(first, chosen={"GET /log"})
    before = stored()
    with pytest.raises(InvalidArgument, match=MEANWHILE):
        import_plan.store(second, chosen={"GET /extra"})
    assert stored() == before
    assert ImportedApi.objects.get().title == "Shop"
    import_plan.store(planned(with_extra(api)), chosen={"GET /extra"})
    assert ("GET /extra", "extra", True) in stored()


def test_a_name_that_was_taken_in_the_moment_of_storing_leaves_nothing_behind(api: Shop):
    import_plan.store(planned(api.document), chosen={"GET /log"})
    plan = planned({**with_extra(api, without="/log"), "servers": [{"url": "https://new.example.com"}]})
    assert plan.base_url != "https://new.example.com"
    ImportedOperation.objects.filter(key="GET /log").update(name="extra")
    before = stored()
    with pytest.raises(InvalidArgument, match=MEANWHILE):
        import_plan.store(plan, chosen={"GET /extra"})
    assert stored() == before
    assert ImportedApi.objects.get().title == "Shop"


# -- In the admin -----------------------------------------------------------------------------------


def admin(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(name))
    return client


def looked_at(client: Client, document: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The preview's address, and what its page sends without being asked."""
    file = SimpleUploadedFile("shop.json", json.dumps(document).encode())
    address = client.post("/admin/openapi/importedapi/import/", {"name": "shop", "file": file})["Location"]
    return address, hidden(client.get(address).content.decode())


def hidden(page: str) -> dict[str, str]:
    found = re.search(r'name="state" value="([^"]*)"', page)
    assert found
    return {"state": found[1]}


def test_the_second_of_two_admins_is_told_and_sees_what_is_there_now(api: Shop):
    first, second = admin("first"), admin("second")
    (here, own), (there, others) = looked_at(first, api.document), looked_at(second, with_extra(api))
    first.post(here, {**own, "base_url": api.url, "chosen": ["GET /log"]})
    before = stored()
    page = second.post(there, {**others, "base_url": api.url, "chosen": ["GET /extra"]}).content.decode()
    assert MEANWHILE in page
    assert "1 new" in re.sub(r"<[^>]+>|\s+", " ", page).replace("  ", " ")
    assert stored() == before
    answer = second.post(there, {**hidden(page), "base_url": api.url, "chosen": ["GET /extra"]}, follow=True)
    assert "Imported." in answer.content.decode()
    assert ("GET /extra", "extra", True) in stored()


def test_a_draft_that_is_sent_twice_is_stored_once(api: Shop):
    client = admin("first")
    address, own = looked_at(client, api.document)
    for _ in range(2):
        answer = client.post(address, {**own, "base_url": api.url, "chosen": ["GET /log"]}, follow=True)
    assert "That document is no longer stored" in answer.content.decode()
    assert ImportedApi.objects.count() == UpstreamApi.objects.filter(name="shop").count() == 1


def test_a_draft_that_could_not_be_stored_is_kept(api: Shop):
    client = admin("first")
    address, own = looked_at(client, api.document)
    taken = {"name:GET /all": "same", "name:GET /log": "same"}
    page = client.post(address, {**own, **taken, "base_url": api.url, "chosen": ["GET /log"]}).content.decode()
    assert "is the name of two operations" in page
    assert ImportDraft.objects.count() == 1
    assert stored() == []
