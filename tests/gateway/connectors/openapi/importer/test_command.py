"""manage.py import_openapi, as somebody uses it who has only read its --help."""

import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from context_protection.configuration.revisions import revisions
from gateway.connectors.openapi.document import reader
from gateway.connectors.openapi.models import ImportedApi, ImportedOperation
from gateway.connectors.openapi.request import credentials
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.connections import AuthKind
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from tests.doors import Doors
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.django_db
SECRET = "canary-77ab12-of-the-shop"


class DocumentedShop(Shop):
    """It answers with its own document, too."""

    def answer(self, method: str, path: str, query: Any, body: bytes) -> tuple[int, Any, dict[str, str]]:
        return (200, self.document, {}) if path == "/openapi.json" else super().answer(method, path, query, body)


@pytest.fixture
def api(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = ("127.0.0.0/8",)
    monkeypatch.setattr("tests.simulators.shop.Shop", DocumentedShop)
    with shop() as simulated:
        yield simulated
    retain(())


def with_security(document: dict[str, Any], **scheme: Any) -> dict[str, Any]:
    components = {**document["components"], "securitySchemes": {"key": scheme}}
    return {**document, "components": components, "security": [{"key": []}]}


def written(folder: Path, document: Any) -> str:
    path = folder / "shop.json"
    path.write_text(json.dumps(document))
    return str(path)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("import_openapi", *arguments, "--no-color", stdout=out)
    revisions.bump()
    return out.getvalue()


def on() -> set[str]:
    return set(ImportedOperation.objects.filter(enabled=True, is_gone=False).values_list("key", flat=True))


def test_without_a_choice_it_is_shown_and_nothing_is_stored(api: Shop, tmp_path: Path):
    said = run(written(tmp_path, api.document), "--name", "shop")
    assert f"Shop 2026-11 at {api.url}" in said
    assert "10 new" in said
    assert "+ on  shop_list_all" in said
    assert "+ off shop_place_order" in said
    assert "Nothing was stored. Add --all, or --only TEXT" in said
    assert not UpstreamApi.objects.exists()


def test_all_that_only_reads_is_stored_and_answers(api: Shop, tmp_path: Path, doors: Doors):
    said = run(written(tmp_path, api.document), "--name", "shop", "--all")
    assert "Stored. 8 tools of shop are switched on" in said
    assert doors.mcp("shop_get_customer", {"id": "7"})["name"] == "Customer 7"
    assert not {"POST /orders", "DELETE /customers/{id}"} & on()


def test_actions_are_switched_on_where_they_are_asked_for(api: Shop, tmp_path: Path):
    document = written(tmp_path, api.document)
    run(document, "--name", "shop", "--only", "order")
    assert on() == set()
    run(document, "--name", "shop", "--only", "order", "--with-actions")
    assert on() == {"POST /orders"}


def test_only_takes_names_paths_and_tags(api: Shop, tmp_path: Path):
    said = run(written(tmp_path, api.document), "--name", "shop", "--only", "/LOG", "--only", "get_customer")
    assert on() == {"GET /log", "GET /customers/{id}"}
    assert "Stored. 2 tools" in said
    assert "off shop_list_all" in said


def test_words_that_no_operation_has_are_refused(api: Shop, tmp_path: Path):
    with pytest.raises(CommandError, match="No operation has 'invoices' in its name, tags or path"):
        run(written(tmp_path, api.document), "--name", "shop", "--only", "log", "--only", "invoices")
    assert not ImportedApi.objects.exists()


def test_a_document_is_read_at_an_address(api: Shop, doors: Doors):
    said = run(f"{api.url}/openapi.json", "--name", "shop", "--only", "log")
    assert "Stored. 1 tools" in said
    assert ImportedApi.objects.get().source == f"{api.url}/openapi.json"
    assert "line 3 of the log" in doors.mcp("shop_read_log", {"startLine": 4, "endLine": 4})["content"]


def test_a_private_address_is_refused_before_anything_is_sent(api: Shop, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    with pytest.raises(CommandError, match=r"private or reserved address.*ALLOW_PRIVATE_UPSTREAMS"):
        run(f"{api.url}/openapi.json", "--name", "shop", "--all")
    assert api.calls == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"swagger": "2.0"}', "The document is Swagger 2.0. Convert it to OpenAPI 3 first"),
        ("<html>", "an HTML page"),
        ('{"openapi": "3.1.0", "info": {}, "paths": {}}', "says where|has no address of the API|no operation"),
    ],
)
def test_what_is_no_document_is_refused_in_words(tmp_path: Path, text: str, message: str):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(CommandError, match=message):
        run(str(path), "--name", "shop", "--all")


def test_a_file_that_is_not_there_is_told(tmp_path: Path):
    with pytest.raises(CommandError, match=r"nowhere\.json cannot be read: No such file"):
        run(str(tmp_path / "nowhere.json"), "--name", "shop")


@pytest.mark.parametrize("name", ["hostaway", "nsip", "openapi", "list", "get", "result"])
def test_names_of_the_product_are_refused(api: Shop, tmp_path: Path, name: str):
    with pytest.raises(CommandError, match="Choose another"):
        run(written(tmp_path, api.document), "--name", name, "--all")
    assert not UpstreamApi.objects.exists()


def test_an_import_again_keeps_what_was_set_in_the_admin(api: Shop, tmp_path: Path):
    run(written(tmp_path, api.document), "--name", "shop", "--all")
    ImportedOperation.objects.filter(key="POST /orders").update(enabled=True)
    ImportedOperation.objects.filter(key="GET /all").update(name="everyone", enabled=False)
    document = api.document
    del document["paths"]["/by-link"]
    document["paths"]["/by-page"]["get"]["summary"] = "Customers by page"
    said = run(written(tmp_path, document), "--name", "shop", "--all")
    assert "1 changed, 8 unchanged, 1 gone" in said
    lines = [line for line in said.splitlines() if " tokens   " in line]
    assert [line[0] for line in lines[:2]] == ["~", "-"], "what is different comes first"
    assert "title" in lines[0]
    assert "POST /orders" in on()
    assert not {"GET /all", "GET /by-link"} & on()
    assert ImportedOperation.objects.get(key="GET /all").name == "everyone"


def test_the_secret_of_the_environment_is_sent_as_the_document_says(
    api: Shop, tmp_path: Path, doors: Doors, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SHOP_KEY", f"{SECRET}\n")
    document = with_security(api.document, **{"type": "apiKey", "in": "header", "name": "X-Shop-Key"})
    said = run(written(tmp_path, document), "--name", "shop", "--all", "--credential-env", "SHOP_KEY")
    assert "Credentials: API key in a header." in said
    assert SECRET not in said
    doors.mcp("shop_get_customer", {"id": "7"})
    assert api.calls[-1][3]["x-shop-key"] == SECRET
    sealed = UpstreamApi.objects.get().sealed_secret
    assert SECRET not in sealed
    assert vault().open(sealed, upstream="shop") == SECRET
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM upstreams_upstreamapi")
        assert SECRET not in repr(cursor.fetchall())


@pytest.mark.parametrize(
    ("auth", "stored"),
    [
        ("header:X-API-Key", ("header", "X-API-Key", "")),
        ("query:api_key", ("query", "api_key", "")),
        ("bearer", ("bearer", "", "")),
        ("basic:clerk", ("basic", "", "clerk")),
    ],
)
def test_how_a_secret_is_sent_can_be_said(
    api: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, auth: str, stored: tuple[str, str, str]
):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    document = written(tmp_path, api.document)
    run(document, "--name", "shop", "--all", "--credential-env", "SHOP_KEY", "--auth", auth)
    row = UpstreamApi.objects.get()
    assert (row.authentication, row.parameter_name, row.user_name) == stored


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--credential-env", "NOT_SET_AT_ALL"], "NOT_SET_AT_ALL is not set, or empty"),
        (["--auth", "bearer"], "Add --credential-env NAME"),
        (["--credential-env", "SHOP_KEY"], "does not say how callers authenticate.*--auth"),
        (["--credential-env", "SHOP_KEY", "--auth", "cookie:id"], "'cookie:id' is not a known kind of authentication"),
        (["--credential-env", "SHOP_KEY", "--auth", "header"], "'header' is not a known kind"),
        (["--credential-env", "SHOP_KEY", "--auth", "header:Host"], "Host is set by Sluice itself"),
    ],
)
def test_credentials_that_cannot_be_sent_are_refused_and_nothing_is_stored(
    api: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
):
    monkeypatch.setenv("SHOP_KEY", SECRET)
    with pytest.raises(CommandError, match=message) as refused:
        run(written(tmp_path, api.document), "--name", "shop", "--all", *arguments)
    assert SECRET not in str(refused.value)
    assert not UpstreamApi.objects.exists()


def test_credentials_that_are_missing_are_told(api: Shop, tmp_path: Path):
    document = with_security(api.document, type="http", scheme="bearer")
    said = run(written(tmp_path, document), "--name", "shop", "--all")
    assert "The document asks for a bearer token. None are sent." in said
    assert "--credential-env NAME" in said


def test_of_several_ways_the_one_that_most_operations_name_is_taken():
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Bank", "version": "1"},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {
                "browser": {"type": "apiKey", "in": "cookie", "name": "session"},
                "key": {"type": "apiKey", "in": "query", "name": "key"},
                "token": {"type": "http", "scheme": "bearer"},
            }
        },
        "paths": {
            "/a": {"get": {"security": [{"browser": []}]}},
            "/b": {"get": {"security": [{"key": []}]}},
            "/c": {"get": {}},
            "/d": {"get": {}},
        },
    }
    described = reader.read(document)
    assert credentials.in_words(described) == "The document asks for a bearer token."
    assert credentials.proposed(described).kind is AuthKind.BEARER
