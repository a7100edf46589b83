"""Importing in the admin: a document is read, looked at, chosen from, and only then stored."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from gateway.celery import app
from gateway.connectors.openapi.models import DRAFTS_LIVE, ImportDraft, ImportedApi, ImportedOperation
from gateway.connectors.openapi.tasks import purge_drafts
from gateway.upstreams.auth.vault import vault
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import retain
from tests.doors import Doors
from tests.simulators.shop import Shop, shop

pytestmark = pytest.mark.django_db

IMPORT = "/admin/openapi/importedapi/import/"
APIS = "/admin/openapi/importedapi/"
OPERATIONS = "/admin/openapi/importedoperation/"
SECRET = "canary-e0417c-of-the-shop"


@pytest.fixture
def api(settings: Any) -> Iterator[Shop]:
    settings.ALLOW_PRIVATE_UPSTREAMS = ("127.0.0.0/8",)
    with shop() as simulated:
        yield simulated
    retain(())


@pytest.fixture
def keyed(api: Shop) -> dict[str, Any]:
    """The shop's document, which asks for a key."""
    scheme = {"type": "apiKey", "in": "header", "name": "X-Shop-Key"}
    components = {**api.document["components"], "securitySchemes": {"key": scheme}}
    return {**api.document, "components": components, "security": [{"key": []}]}


def page_of(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


def upload(client: Client, document: Any, name: str = "shop", **more: str) -> Any:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return client.post(IMPORT, {"name": name, "file": SimpleUploadedFile("shop.json", data), **more})


def previewed(client: Client, document: Any, name: str = "shop", **more: str) -> str:
    response = upload(client, document, name, **more)
    assert response.status_code == 302, re.findall(r"errorn?o?t?e?l?i?s?t?[^>]*>(.*?)<", response.content.decode())
    return str(response["Location"])


def import_all(client: Client, address: str, base_url: str, *chosen: str, **more: str) -> Any:
    response = client.post(address, {"base_url": base_url, "chosen": chosen, **more}, follow=True)
    revisions.bump()
    return response


def staff(*codenames: str) -> Client:
    user = User.objects.create_user(f"clerk{User.objects.count()}", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


IMPORTER = (
    "add_importedapi",
    "change_importedapi",
    "change_importedoperation",
    "add_upstreamapi",
    "change_upstreamapi",
    "change_credentials",
)


def test_a_document_is_looked_at_chosen_from_and_its_tools_answer(admin_client: Client, api: Shop, doors: Doors):
    address = previewed(admin_client, api.document)
    page = page_of(admin_client.get(address))
    assert "Nothing is stored yet." in page
    assert "<strong>10</strong> new" in page
    assert not UpstreamApi.objects.exists()
    chosen = ("GET /customers/{id}", "GET /log")
    page = page_of(import_all(admin_client, address, api.url, *chosen, **{"name:GET /log": "journal"}))
    assert "Imported. 2 tools of shop are switched on" in page
    assert doors.mcp("shop_get_customer", {"id": "7"})["name"] == "Customer 7"
    assert "line 0 of the log" in doors.mcp("shop_journal", {})["content"]
    assert doors.post("shop_list_all", {})["error"]["reason"] == "unknown_operation"
    assert not ImportDraft.objects.exists()


def test_an_import_into_a_connection_that_is_off_says_so(admin_client: Client, api: Shop):
    page = page_of(import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /log"))
    assert "Imported. 1 tool of shop is switched on; clients see it from now on." in page
    UpstreamApi.objects.update(enabled=False)
    page = page_of(import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /log", "GET /all"))
    assert "Imported. 2 tools of shop are switched on, but its connection is switched off: clients see none." in page
    assert "from now on" not in page
    assert f'<a href="/admin/upstreams/upstreamapi/{UpstreamApi.objects.get().pk}/change/">Switch it on</a>' in page


def test_what_only_reads_is_proposed_and_what_changes_something_is_not(admin_client: Client, api: Shop):
    page = page_of(admin_client.get(previewed(admin_client, api.document)))
    boxes = dict(re.findall(r'name="chosen" value="([^"]+)" id="\w+"( checked)?', page))
    assert len(boxes) == 10
    assert {key for key, checked in boxes.items() if not checked} == {"DELETE /customers/{id}", "POST /orders"}


def test_a_key_that_the_document_asks_for_is_entered_with_the_import(
    admin_client: Client, api: Shop, keyed: dict[str, Any], doors: Doors
):
    address = previewed(admin_client, keyed)
    page = page_of(admin_client.get(address))
    assert "The document asks for an API key in the header X-Shop-Key." in page
    assert 'value="X-Shop-Key"' in page
    entered = {"authentication": "header", "parameter_name": "X-Shop-Key", "secret": SECRET}
    page = page_of(import_all(admin_client, address, api.url, "GET /log", **entered))
    assert SECRET not in page
    assert "Enter credentials" not in page
    doors.mcp("shop_read_log", {})
    assert api.calls[-1][3]["x-shop-key"] == SECRET
    assert vault().open(UpstreamApi.objects.get().sealed_secret, upstream="shop") == SECRET


def test_without_a_key_nothing_is_sent_and_the_way_to_enter_it_is_shown(
    admin_client: Client, api: Shop, keyed: dict[str, Any]
):
    proposed = {"authentication": "header", "parameter_name": "X-Shop-Key", "secret": ""}
    address = previewed(admin_client, keyed)
    page = page_of(import_all(admin_client, address, api.url, "GET /log", **proposed))
    row = UpstreamApi.objects.get()
    assert (row.authentication, row.sealed_secret) == ("none", "")
    assert "asks for an API key in the header X-Shop-Key. No credentials are sent." in page
    connection = f"/admin/upstreams/upstreamapi/{row.pk}/change/?authentication=header&amp;parameter_name=X-Shop-Key"
    assert f'<a href="{connection}">Enter credentials</a>' in page


def test_how_a_key_is_sent_is_remembered_until_the_key_is_entered(
    admin_client: Client, api: Shop, keyed: dict[str, Any]
):
    chosen = {"authentication": "query", "parameter_name": "shop_key", "secret": ""}
    import_all(admin_client, previewed(admin_client, keyed), api.url, "GET /log", **chosen)
    row = UpstreamApi.objects.get()
    assert (row.authentication, row.parameter_name) == ("none", "")
    page = page_of(admin_client.get(f"{APIS}{row.imported.pk}/change/"))
    assert "?authentication=query&amp;parameter_name=shop_key" in page
    form = {"authentication": "query", "parameter_name": "shop_key"}
    page = page_of(admin_client.get(f"/admin/upstreams/upstreamapi/{row.pk}/change/", form))
    assert 'value="shop_key"' in page
    assert '<option value="query" selected>' in page
    page = page_of(admin_client.get(previewed(admin_client, keyed)))
    assert 'value="shop_key"' in page
    entered = {**form, "secret": SECRET}
    import_all(admin_client, previewed(admin_client, keyed), api.url, "GET /log", **entered)
    assert ImportedApi.objects.get().awaited == {}
    page = page_of(admin_client.get(f"/admin/upstreams/upstreamapi/{row.pk}/change/", {"authentication": "bearer"}))
    assert '<option value="query" selected>' in page


@pytest.mark.parametrize(
    ("entered", "sentence"),
    [
        ({"authentication": "header", "secret": SECRET}, "Enter the name of the header or parameter"),
        ({"authentication": "none", "secret": SECRET}, "Without authentication no secret is sent."),
        ({"authentication": "bearer", "secret": f"Bearer {SECRET}"}, "A bearer token has no spaces."),
    ],
)
def test_credentials_that_cannot_be_sent_are_marked_and_nothing_is_stored(
    admin_client: Client, api: Shop, entered: dict[str, str], sentence: str
):
    page = page_of(import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /log", **entered))
    assert sentence in page
    assert SECRET not in page
    assert not UpstreamApi.objects.exists()


def test_a_connection_that_has_credentials_keeps_them(admin_client: Client, api: Shop, keyed: dict[str, Any]):
    entered = {"authentication": "header", "parameter_name": "X-Shop-Key", "secret": SECRET}
    import_all(admin_client, previewed(admin_client, keyed), api.url, "GET /log", **entered)
    address = previewed(admin_client, keyed)
    page = page_of(admin_client.get(address))
    assert "Credentials: API key in a header, as already set" in page
    assert 'name="secret"' not in page
    import_all(admin_client, address, api.url, "GET /log", authentication="none")
    assert UpstreamApi.objects.get().authentication == "header"


def test_a_stored_secret_does_not_follow_a_document_to_another_server(
    admin_client: Client, api: Shop, keyed: dict[str, Any]
):
    entered = {"authentication": "header", "parameter_name": "X-Shop-Key", "secret": SECRET}
    import_all(admin_client, previewed(admin_client, keyed), api.url, "GET /log", **entered)
    address = previewed(admin_client, keyed, base_url="https://elsewhere.example.com")
    page = page_of(import_all(admin_client, address, "https://elsewhere.example.com", "GET /log"))
    assert "it would be sent to another server than it was entered for" in page
    assert UpstreamApi.objects.get().base_url == api.url


# -- Again ------------------------------------------------------------------------------------------


def test_an_import_again_shows_what_changed_first_and_keeps_edits(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all", "GET /by-link", "POST /orders")
    ImportedOperation.objects.filter(key="GET /all").update(name="everyone", description="All of them.")
    document = api.document
    del document["paths"]["/by-link"]
    document["paths"]["/by-page"]["get"]["summary"] = "Customers by page"
    document["paths"]["/new"] = document["paths"]["/all"]
    address = previewed(admin_client, document)
    page = page_of(admin_client.get(address))
    shown = re.findall(r'<span class="status \w+">([^<]+)</span>', page)
    assert shown == ["changed", "new", "gone", *["unchanged"] * 8]
    assert "your edits are preserved" in page
    kept = set(re.findall(r'name="chosen" value="([^"]+)" id="\w+" checked', page))
    assert {"GET /all", "POST /orders"} <= kept
    import_all(admin_client, address, api.url, *kept)
    row = ImportedOperation.objects.get(key="GET /all")
    assert (row.name, row.description, row.enabled) == ("everyone", "All of them.", True)
    gone = ImportedOperation.objects.get(key="GET /by-link")
    assert (gone.is_gone, gone.enabled) == (True, True), "it is on when it is there again"
    import_all(admin_client, previewed(admin_client, api.document), api.url, *kept, "GET /by-link")
    assert not ImportedOperation.objects.get(key="GET /by-link").is_gone


def test_an_import_of_the_same_document_writes_no_operation(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all")
    assert ImportedOperation.history.count() == 10, "one entry each"
    before = dict(ImportedOperation.objects.values_list("key", "changed_at"))
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all")
    assert dict(ImportedOperation.objects.values_list("key", "changed_at")) == before
    assert ImportedOperation.history.count() == 10


def test_two_names_change_places(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all")
    names = {"name:GET /all": "read_log", "name:GET /log": "list_all"}
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all", **names)
    rows = dict(ImportedOperation.objects.values_list("key", "name"))
    assert (rows["GET /all"], rows["GET /log"]) == ("read_log", "list_all")


def test_import_again_begins_with_what_is_known(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all")
    page = page_of(admin_client.get(f"{IMPORT}?api={ImportedApi.objects.get().pk}"))
    assert 'value="shop"' in page
    assert f'value="{api.url}"' in page
    assert page_of(admin_client.get(f"{IMPORT}?api=1%27--"))


# -- What is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"name:GET /all": "read_log"}, "&#x27;read_log&#x27; is the name of two operations."),
        ({"name:GET /all": "list all"}, "Expected letters, digits, _ and -"),
        ({"name:GET /all": "x" * 61}, "at most 60 characters"),
    ],
)
def test_names_that_no_tool_can_have_are_refused_and_what_was_typed_stays(
    admin_client: Client, api: Shop, typed: dict[str, str], sentence: str
):
    page = page_of(import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all", **typed))
    assert sentence in page
    assert f'value="{typed["name:GET /all"]}"' in page
    assert re.findall(r'name="chosen" value="([^"]+)" id="\w+" checked', page) == ["GET /all"]
    assert not UpstreamApi.objects.exists()


def test_the_name_of_an_operation_that_is_gone_stays_with_it(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all")
    document = api.document
    del document["paths"]["/log"]
    import_all(admin_client, previewed(admin_client, document), api.url, "GET /all")
    typed = {"name:GET /all": "read_log"}
    page = page_of(import_all(admin_client, previewed(admin_client, document), api.url, "GET /all", **typed))
    assert "is the name of two operations." in page


def test_a_tool_of_another_import_keeps_its_name(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document, "shop_old"), api.url, "GET /all")
    typed = {"name:GET /all": "old_list_all"}
    page = page_of(import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all", **typed))
    assert "shop_old_list_all is the name of another tool." in page
    retain(())


@pytest.mark.parametrize("name", ["hostaway", "nsip", "results", "list", "get", "search"])
def test_names_of_the_product_are_refused_at_the_field(admin_client: Client, api: Shop, name: str):
    page = page_of(upload(admin_client, api.document, name))
    assert re.search(r"Choose another( name)?[.,]", page)
    assert not ImportDraft.objects.exists()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'{"swagger": "2.0"}', "The document is Swagger 2.0."),
        (b"<!doctype html>", "an HTML page"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe\x00", "The document is not text"),
        (b'{"openapi": "3.1.0", ', "not valid JSON"),
    ],
)
def test_a_wrong_file_is_said_to_be_what_it_is(admin_client: Client, data: bytes, sentence: str):
    page = page_of(upload(admin_client, data))
    assert sentence in page
    assert 'value="shop"' in page
    assert not ImportDraft.objects.exists()


def test_a_document_without_operations_is_shown_as_such_and_not_stored(admin_client: Client, api: Shop):
    address = previewed(admin_client, {**api.document, "paths": {}})
    assert "describes no operation that can be called" in page_of(admin_client.get(address))
    page = page_of(import_all(admin_client, address, api.url))
    assert "describes no operation that can be called" in page
    assert not UpstreamApi.objects.exists()


@pytest.mark.parametrize(
    ("base_url", "sentence"),
    [
        ("", "has no address of the API. Enter its base address."),
        ("ftp://files.example.com", "begins with https:// or http://"),
        ("http://169.254.169.254/latest", "is a private or reserved address"),
        ("https://user:pass@api.example.com", "Remove the user name and password from the address"),
    ],
)
def test_a_base_address_that_cannot_be_called_is_refused(admin_client: Client, api: Shop, base_url: str, sentence: str):
    address = previewed(admin_client, {**api.document, "servers": []})
    assert sentence in page_of(import_all(admin_client, address, base_url, "GET /all"))
    assert not UpstreamApi.objects.exists()


def test_a_document_at_a_private_address_is_not_fetched(admin_client: Client, api: Shop, settings: Any):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    page = page_of(admin_client.post(IMPORT, {"name": "shop", "url": f"{api.url}/openapi.json"}))
    assert "is a private or reserved address, which Sluice does not connect to" in page
    assert api.calls == []


def test_a_document_that_is_not_there_is_told(admin_client: Client, api: Shop):
    page = page_of(admin_client.post(IMPORT, {"name": "shop", "url": f"{api.url}/nowhere.json"}))
    assert "errornote" in page
    assert "Traceback" not in page
    assert not ImportDraft.objects.exists()


def test_a_file_or_an_address_is_asked_for(admin_client: Client, api: Shop):
    assert "Choose a file or enter an address" in page_of(admin_client.post(IMPORT, {"name": "shop"}))


# -- Large documents --------------------------------------------------------------------------------


def test_a_document_of_twelve_megabytes_is_imported(admin_client: Client, api: Shop):
    document = {**api.document, "x-padding": ["twelve megabytes " * 600] * 1300}
    assert len(json.dumps(document)) > 12e6
    address = previewed(admin_client, document)
    import_all(admin_client, address, api.url, "GET /all")
    assert ImportedOperation.objects.count() == 10


def test_a_file_that_is_too_large_is_refused_before_it_is_read(admin_client: Client, settings: Any):
    assert "The file has 41 MB; at most 40 MB are read." in page_of(upload(admin_client, b" " * (41 * 2**20)))


def test_a_document_at_an_address_that_is_too_large_is_not_read_to_its_end(
    admin_client: Client, api: Shop, settings: Any
):
    settings.LARGEST_DOCUMENT = 1000
    page = page_of(admin_client.post(IMPORT, {"name": "shop", "url": f"{api.url}/log"}))
    assert "errornote" in page
    assert "not valid YAML" not in page, "it was not read"


def test_an_api_of_2000_operations_is_chosen_from_on_one_page(admin_client: Client, api: Shop):
    paths = {f"/things{n}": api.document["paths"]["/all"] for n in range(2000)}
    address = previewed(admin_client, {**api.document, "paths": paths})
    chosen = [f"GET /things{n}" for n in range(0, 2000, 2)]
    names = {f"name:GET /things{n}": f"things_{n}" for n in range(2000)}
    import_all(admin_client, address, api.url, *chosen, **names)
    assert ImportedOperation.objects.filter(enabled=True).count() == 1000


# -- Who may ----------------------------------------------------------------------------------------


def test_who_may_import_may_do_so_without_being_a_superuser(api: Shop):
    client = staff(*IMPORTER)
    address = previewed(client, api.document)
    import_all(client, address, api.url, "GET /all")
    assert ImportedApi.objects.exists()


@pytest.mark.parametrize("missing", IMPORTER)
def test_who_may_not_import_is_refused_at_both_pages(api: Shop, admin_client: Client, missing: str):
    client = staff("view_importedapi", *(each for each in IMPORTER if each != missing))
    assert client.get(IMPORT).status_code == 403
    assert upload(client, api.document).status_code == 403
    address = previewed(admin_client, api.document)
    assert client.get(address).status_code == 403
    assert client.post(address, {"base_url": api.url}).status_code == 403
    assert "Import an API" not in page_of(client.get(APIS))


def test_a_search_without_a_hit_is_an_empty_list_for_who_may_edit_it(admin_client: Client, api: Shop):
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all")
    assert "0 imported operations" in page_of(admin_client.get(OPERATIONS, {"q": "no such operation"}))


def test_strangers_are_sent_to_the_login(client: Client):
    assert client.get(IMPORT)["Location"].startswith("/admin/login/")


def test_a_document_that_was_read_belongs_to_who_read_it(admin_client: Client, api: Shop):
    address = previewed(admin_client, api.document)
    response = staff(*IMPORTER).get(address, follow=True)
    assert "That document is no longer stored. Read it again." in page_of(response)
    forged = admin_client.get(f"{IMPORT}{ImportDraft.objects.get().pk}/", follow=True)
    assert "That document is no longer stored." in page_of(forged)


def test_documents_that_nobody_took_up_are_removed_in_time(admin_client: Client, api: Shop):
    previewed(admin_client, api.document)
    assert purge_drafts() == 0
    ImportDraft.objects.update(made_at=timezone.now() - DRAFTS_LIVE - timedelta(minutes=1))
    assert purge_drafts() == 1
    scheduled = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert purge_drafts.name in scheduled


# -- The pages of what is stored --------------------------------------------------------------------


@pytest.fixture
def imported(admin_client: Client, api: Shop) -> ImportedApi:
    import_all(admin_client, previewed(admin_client, api.document), api.url, "GET /all", "GET /log")
    return ImportedApi.objects.get()


def test_an_empty_list_says_how_to_begin(admin_client: Client):
    page = page_of(admin_client.get(APIS))
    assert "No API is imported yet." in page
    assert IMPORT in page


def test_each_box_in_the_list_of_operations_says_what_it_switches(admin_client: Client, imported: ImportedApi):
    page = page_of(admin_client.get(OPERATIONS))
    boxes = re.findall(r'<input type="checkbox" name="form-\d+-(enabled|pinned)"[^>]* aria-label="([^"]+)"', page)
    tools = [f"shop_{operation.name}" for operation in imported.operations.all()]
    assert sorted(said for _, said in boxes) == sorted(f"{t}: {what}" for t in tools for what in ("enabled", "pinned"))
    assert all(said.endswith(f": {what}") for what, said in boxes)


def test_the_page_of_an_api_offers_what_can_be_done(admin_client: Client, imported: ImportedApi):
    page = page_of(admin_client.get(f"{APIS}{imported.pk}/change/"))
    assert f"{IMPORT}?api={imported.pk}" in page
    assert "2 of 10 switched on" in page
    assert 'name="_save"' not in page
    assert "Imported shop.json: 2 tools switched on." in page_of(admin_client.get(f"{APIS}{imported.pk}/history/"))


def test_an_operation_is_edited_and_empty_settings_stay_empty(
    admin_client: Client, imported: ImportedApi, doors: Doors
):
    row = ImportedOperation.objects.get(key="GET /all")
    page = page_of(admin_client.get(f"{OPERATIONS}{row.pk}/change/"))
    assert ">null<" not in re.sub(r"\s", "", page)
    fields = {"name": "everyone", "enabled": "on", "title": "", "description": "All of them.", "sections": ""}
    response = admin_client.post(
        f"{OPERATIONS}{row.pk}/change/", {**fields, "row_fields": "", "preview_fields": "", "paging": "{}"}
    )
    assert response.status_code == 302
    row.refresh_from_db()
    assert (row.name, row.sections, row.paging) == ("everyone", None, {})
    revisions.bump()
    assert len(doors.mcp("shop_everyone", {})["items"]) == 50


def test_operations_are_switched_in_their_list_and_never_deleted_alone(admin_client: Client, imported: ImportedApi):
    page = page_of(admin_client.get(OPERATIONS))
    assert "delete_selected" not in page
    row = ImportedOperation.objects.get(key="GET /all")
    assert "deletelink" not in page_of(admin_client.get(f"{OPERATIONS}{row.pk}/change/"))
    assert admin_client.post(f"{OPERATIONS}{row.pk}/delete/", {"post": "yes"}).status_code == 403


def test_what_answers_have_told_is_forgotten(admin_client: Client, imported: ImportedApi):
    chosen = ImportedOperation.objects.get(key="GET /log")
    ImportedOperation.objects.update(learned={"row": ["id"]}, listed={"rows": "", "paging": None})
    before = chosen.changed_at
    form = {"action": "forget_what_was_learned", "_selected_action": [chosen.pk]}
    page = page_of(admin_client.post("/admin/openapi/importedoperation/", form, follow=True))
    assert "1 operations will learn again from their next answers." in page
    chosen.refresh_from_db()
    assert (chosen.learned, chosen.listed) == ({}, {})
    assert chosen.changed_at > before
    others = ImportedOperation.objects.exclude(pk=chosen.pk)
    assert {each.learned["row"][0] for each in others} == {"id"}


def test_an_api_is_deleted_with_its_operations(admin_client: Client, imported: ImportedApi, doors: Doors):
    assert page_of(admin_client.get(f"{APIS}{imported.pk}/delete/"))
    assert admin_client.post(f"{APIS}{imported.pk}/delete/", {"post": "yes"}).status_code == 302
    revisions.bump()
    assert not ImportedOperation.objects.exists()
    assert doors.post("shop_list_all", {})["error"]["reason"] == "unknown_operation"


def test_the_first_page_of_the_admin_leads_there(admin_client: Client):
    page = page_of(admin_client.get("/admin/"))
    assert "<strong>Import APIs</strong>" in page
    assert "<strong>Connect upstream APIs</strong>" in page
    assert "<strong>Import APIs</strong>" not in page_of(staff("view_apikey").get("/admin/"))


# -- Forms and documents beyond the limits ------------------------------------------------------------


def test_a_form_of_too_many_files_is_refused_in_words(admin_client: Client):
    files = {f"file{number}": SimpleUploadedFile("a.json", b"{}") for number in range(101)}
    response = admin_client.post(IMPORT, {"name": "shop", **files})
    error = response.json()["error"]
    assert (response.status_code, error["reason"]) == (400, "too_many_fields")
    assert "100 files" in error["data"]["expected"]


@pytest.mark.parametrize(
    "document",
    [
        b"openapi: 3.1.0\nx: " + b"[" * 5_000 + b"]" * 5_000,
        b"openapi: 3.1.0\nx: " + b"{a: " * 5_000 + b"}" * 5_000,
        b"openapi: 3.1.0\n" + b"".join(b" " * level + b"x:\n" for level in range(1_000)),
    ],
    ids=["lists", "objects", "blocks"],
)
def test_a_yaml_document_of_too_many_levels_is_refused_in_words(admin_client: Client, document: bytes):
    assert "it is nested more than 200 levels deep" in page_of(upload(admin_client, document))
    assert ImportDraft.objects.count() == 0
