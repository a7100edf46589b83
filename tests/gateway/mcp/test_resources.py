"""Resources over MCP: what there is, reading it in protected pieces, and what is said of a wrong URI; in both eras."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils import timezone
from mcp import MCPError
from mcp.shared.uri_template import UriTemplate
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, PromptReference

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.core.cursors import SnapshotOrigin
from context_protection.core.policy import DEFAULTS
from context_protection.core.stored_files import StoredFile
from context_protection.models import TokenBudget
from context_protection.stores.snapshots import snapshots
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.connectors.hostaway import sample, store
from gateway.connectors.hostaway.models import Document
from gateway.dispatch import hints
from gateway.mcp.errors import RESOURCE_NOT_FOUND, as_protocol_errors
from gateway.mcp.resources import called
from gateway.threads.bridge import run_sync
from telemetry import recorder
from telemetry.models import TelemetryRecord
from tests import crawler
from tests.doors import Doors, uri_of

pytestmark = pytest.mark.django_db

ERAS = ["legacy", "2026-07-28"]
TEMPLATES = [
    "sluice://listings/{id}{?fields,cursor,format}",
    "sluice://bookings/{id}{?fields,cursor,format}",
    "sluice://transactions/{id}{?fields,cursor,format}",
    "sluice://documents/{id}{?search,startLine,endLine,cursor,format}",
]


def pages(doors: Doors, verb: str, era: str = "auto") -> list[Any]:
    """Every page of one of the lists of what there is."""

    async def walked() -> list[Any]:
        found, cursor = [], None
        async with doors.client(era) as client:
            while True:
                found.append(await getattr(client, verb)(cursor=cursor))
                cursor = found[-1].next_cursor
                if cursor is None:
                    return found

    return async_to_sync(walked)()


def tokens_of(result: Any) -> int:
    return tokens.claude.count(result.model_dump_json(by_alias=True, exclude_none=True))


def budget(operation: str, **values: Any) -> None:
    TokenBudget.objects.create(operation=operation, **values)
    revisions.bump()


# -- What there is ----------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_every_document_is_listed_with_what_one_wants_to_know_before_reading_it(doors: Doors, era: str):
    (page,) = pages(doors, "list_resources", era)
    stored = {document.id: document for document in Document.objects.all()}
    assert {each.name for each in page.resources} == set(stored)
    for each in page.resources:
        document = stored[each.name]
        assert each.uri == f"sluice://documents/{document.id}"
        assert (each.title, each.size, each.mime_type) == (document.title, document.bytes, "application/json")
        assert each.description == (
            f"{document.media_type}, {document.lines:,} lines, {document.bytes:,} bytes, "
            f"about {document.estimated_tokens:,} tokens"
        )


def test_a_file_that_is_no_text_is_listed_and_read_as_its_facts(doors: Doors):
    store.save_document("floor plan.bin", "Floor plan", "application/octet-stream", b"\x00\x01\x02\xff" * 50)
    (page,) = pages(doors, "list_resources")
    (entry,) = (each for each in page.resources if each.name == "floor plan.bin")
    assert entry.description == "application/octet-stream, 200 bytes"
    assert doors.read(entry.uri)["binary"] is True


def test_the_list_goes_by_the_operation_and_by_its_cursor(doors: Doors):
    budget("list_documents", default_page_size=1)
    walked = pages(doors, "list_resources")
    assert [len(page.resources) for page in walked] == [1, 1, 1, 1]
    names = [page.resources[0].name for page in walked]
    assert names == [row["id"] for row in crawler.walk(doors.mcp, "list_documents", {"limit": 1})]


def test_a_cursor_of_the_list_is_the_operations_own(doors: Doors):
    budget("list_documents", default_page_size=3)
    first, _ = pages(doors, "list_resources")
    rest = doors.mcp("list_documents", {"cursor": first.next_cursor})
    assert len(rest["items"]) == 1


def test_each_page_is_recorded_as_a_call_of_its_caller(doors: Doors):
    TelemetryRecord.objects.all().delete()
    pages(doors, "list_resources")
    doors.read("sluice://bookings/43000003")
    recorder.flush()
    calls = TelemetryRecord.objects.order_by("pk").values_list("operation", "transport", "caller")
    assert list(calls) == [("list_documents", "stdio", "tests"), ("get_booking", "stdio", "tests")]


@pytest.fixture
def many_documents() -> int:
    """With names and titles that are as long as they can be."""
    for number in range(60):
        store.save_document(f"{number:03}{'ü' * 60}.md", f"{number} {'很长的标题' * 40}", "text/markdown", "text")
    return Document.objects.count()


@pytest.mark.parametrize("cap", [DEFAULTS.hard_cap, 1000])
def test_whatever_the_documents_are_called_no_page_is_over_the_cap(many_documents: int, cap: int, doors: Doors):
    budget("", hard_cap=cap, token_budget_threshold=min(4000, cap), default_page_size=200)
    walked = pages(doors, "list_resources")
    assert len({each.uri for page in walked for each in page.resources}) == many_documents
    assert sum(len(page.resources) for page in walked) == many_documents
    assert max(map(tokens_of, walked)) <= cap


def test_an_entry_that_alone_is_over_the_cap_still_says_where_its_document_is(doors: Doors):
    Document.objects.all().delete()
    store.save_document(f"{'ü' * 80}.md", "很长的标题" * 60, "text/markdown", "text")
    budget("", hard_cap=1000, token_budget_threshold=1000)
    (page,) = pages(doors, "list_resources")
    assert tokens_of(page) <= 1000
    (entry,) = page.resources
    assert (entry.title, entry.description) == (None, None)
    assert doors.read(entry.uri)["content"] == "text"


def test_the_page_for_clients_has_the_templates():
    """Completion takes only a template of exactly this form."""
    page = (Path(settings.BASE_DIR) / "docs/clients.md").read_text()
    assert sorted(re.findall(r"sluice://\w+/\{id\}\{\?[^}]*\}", page)) == sorted(TEMPLATES)


@pytest.mark.parametrize("era", ERAS)
def test_the_templates_are_those_of_what_is_read_one_at_a_time(doors: Doors, era: str):
    (page,) = pages(doors, "list_resource_templates", era)
    assert [each.uri_template for each in page.resource_templates] == TEMPLATES
    for each in page.resource_templates:
        assert each.title
        assert each.description
        assert each.mime_type == "application/json"


@pytest.mark.parametrize("verb", ["list_resource_templates", "list_prompts"])
def test_what_is_offered_comes_in_pages_under_the_smallest_cap(doors: Doors, verb: str):
    (whole,) = pages(doors, verb)
    budget("", hard_cap=1000, token_budget_threshold=1000)
    walked = pages(doors, verb)
    entries = {"list_resource_templates": "resource_templates", "list_prompts": "prompts"}[verb]
    assert [each for page in walked for each in getattr(page, entries)] == getattr(whole, entries)
    assert max(map(tokens_of, walked)) <= 1000


@pytest.mark.parametrize("verb", ["list_resources", "list_resource_templates", "list_prompts"])
@pytest.mark.parametrize("cursor", ["nonsense", "", "another list's"])
def test_a_cursor_of_another_list_is_refused(doors: Doors, verb: str, cursor: str):
    given = snapshots.sealer.seal("tools", 1) if " " in cursor else cursor
    with pytest.raises(MCPError) as error_response:
        doors.ask(lambda client: getattr(client, verb)(cursor=given))
    error = error_response.value.error
    assert error.code == INVALID_PARAMS
    assert error.data["parameter"] == "cursor"


def test_what_is_offered_may_be_kept_a_while_and_what_is_read_may_not(doors: Doors):
    async def kept() -> list[tuple[int, str]]:
        async with doors.client("2026-07-28") as client:
            results = [
                await client.list_resources(),
                await client.list_resource_templates(),
                await client.list_prompts(),
                await client.read_resource("sluice://bookings/43000003"),
            ]
        return [(each.ttl_ms, each.cache_scope) for each in results]

    assert async_to_sync(kept)() == [(5000, "private")] * 3 + [(0, "private")]


# -- Reading ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
def test_a_long_document_is_read_to_its_end_by_resources_alone(doors: Doors, era: str):
    """A cursor goes into the template that the document's URI is made of."""
    texts = {document.name: document.content for document in sample.documents()}
    (page,) = pages(doors, "list_resources", era)
    for entry in page.resources:
        pieces, uri = [], entry.uri
        while uri:
            answer = doors.read(uri, era)
            assert tokens.claude.count(json.dumps(answer, ensure_ascii=False)) <= DEFAULTS.hard_cap
            pieces.append(answer["content"])
            following = answer.get("nextCursor")
            template = UriTemplate.parse(f"{entry.uri}{{?startLine,endLine,cursor}}")
            uri = template.expand({"cursor": following}) if following else ""
        assert "".join(pieces) == texts[entry.name]
        assert len(pieces) > 1 or len(texts[entry.name]) < 10_000


def test_a_record_is_put_together_from_uris_alone(doors: Doors):
    preview = doors.read("sluice://listings/200285")
    hint = preview["meta"]["detailsAvailable"]
    assert hint["resource"] == "sluice://listings/200285?fields=all"
    assert "tool" not in hint
    whole = crawler.from_parts(doors.resource, "get_listing", {"id": 200285, "fields": "all"})
    assert whole == crawler.record(doors.rest, "get_listing", {"id": 200285})
    sections: dict[str, Any] = {}
    for name in hint["sections"]:
        sections |= crawler.own(doors.read(hint["resource"].replace("=all", f"={name}")))
    assert sections == whole


def test_the_lines_of_a_range_and_a_name_with_all_that_uris_give_a_meaning_to(doors: Doors):
    name = "a b/ü?#{x}+&=%41.md"
    store.save_document(name, "Odd", "text/markdown", "one\ntwo\nthree\n")
    (page,) = pages(doors, "list_resources")
    (entry,) = (each for each in page.resources if each.name == name)
    assert entry.uri == uri_of("read_document", {"id": name})
    assert doors.read(entry.uri)["content"] == "one\ntwo\nthree\n"
    assert doors.read(f"{entry.uri}?startLine=2&endLine=2")["content"] == "two\n"


def test_a_query_is_read_as_uris_write_it_and_not_as_forms_do():
    _, arguments = called("sluice://documents/a+b%20c?cursor=x+y%20z&endLine=7")
    assert arguments == {"id": "a+b c", "cursor": "x+y z", "endLine": 7}


def test_the_scheme_is_the_same_in_capitals(doors: Doors):
    assert doors.read("SLUICE://bookings/43000003") == doors.read("sluice://bookings/43000003")


# -- What is wrong ----------------------------------------------------------------------------------

MISSING = [
    ("sluice://booking/43000003", "uri", "Did you mean sluice://bookings/{id}?"),
    ("sluice://bookings", "uri", "Did you mean sluice://bookings/{id}?"),
    ("sluice://bookings/", "uri", "Did you mean sluice://bookings/{id}?"),
    ("sluice://bookings/1/2", "uri", "Did you mean sluice://bookings/{id}?"),
    ("sluice://zzz/1", "uri", "Take a URI from resources/list, or fill in a template."),
    ("file:///etc/passwd", "uri", "Take a URI from resources/list, or fill in a template."),
    ("sluice:bookings/7", "uri", "Take a URI from resources/list, or fill in a template."),
    ("", "uri", "Take a URI from resources/list, or fill in a template."),
    (f"sluice://documents/{'x' * 20_000}", "uri", "Did you mean sluice://documents/{id}?"),
    ("sluice://bookings/1", "id", "Find the id with list_bookings."),
    ("sluice://documents/no-such.md", "id", "Find the id with list_documents."),
]
WRONG = [
    ("sluice://bookings/seven", "id"),
    ("sluice://bookings/43000003?feilds=all", "feilds"),
    ("sluice://bookings/43000003?startLine=1", "startLine"),
    ("sluice://bookings/43000003?fields=all&fields=id", "fields"),
    ("sluice://bookings/43000003?id=43000004", "id"),
    ("sluice://bookings/43000003?fields=nonsense", "fields"),
    ("sluice://bookings/43000003?cursor=nonsense", "cursor"),
    ("sluice://bookings/43000003?cursor=", "cursor"),
    ("sluice://documents/house-manual.md?startLine=one", "startLine"),
    ("sluice://documents/house-manual.md?startLine=9999", "startLine"),
    ("sluice://documents/a%00b", "id"),
]


@pytest.mark.parametrize(("era", "code"), [("legacy", RESOURCE_NOT_FOUND), ("2026-07-28", INVALID_PARAMS)])
@pytest.mark.parametrize(("uri", "parameter", "suggestion"), MISSING, ids=lambda value: str(value)[:40])
def test_what_is_not_there_is_said_with_the_number_of_the_era(
    doors: Doors, uri: str, parameter: str, suggestion: str, era: str, code: int
):
    error = doors.read(uri, era)["error"]
    assert error["code"] == code
    assert (error["data"]["parameter"], error["data"]["suggestion"]) == (parameter, suggestion)
    assert error["data"]["uri"][:80] == uri[:80]
    assert error["data"]["expected"]
    assert len(json.dumps(error)) < 1000


@pytest.mark.parametrize("era", ERAS)
def test_a_uri_that_is_too_long_is_told_so(doors: Doors, era: str):
    error = doors.read(f"sluice://documents/house-manual.md?search={'x' * 20_000}", era)["error"]
    assert error["message"] == "The URI has 20,042 characters, more than 16,384."


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("uri", "parameter"), WRONG)
def test_a_wrong_argument_is_named_with_what_to_do(doors: Doors, uri: str, parameter: str, era: str):
    error = doors.read(uri, era)["error"]
    assert error["code"] == INVALID_PARAMS
    assert error["data"]["parameter"] == parameter
    assert error["data"]["expected"]
    assert error["data"]["suggestion"]
    assert "value" in error["data"]


@pytest.mark.parametrize("era", ERAS)
def test_a_key_that_was_revoked_meanwhile_reads_nothing_more(doors: Doors, era: str):
    async def error_response() -> list[int]:
        async with doors.client(era) as client:
            await client.list_resources()
            await run_sync(revoke)
            codes = []
            for ask in (
                lambda: client.read_resource("sluice://bookings/43000003"),
                lambda: client.list_resources(cache_mode="bypass"),
                lambda: client.get_prompt("audit_booking", {"booking": "43000003"}),
                lambda: client.complete(PromptReference(name="audit_booking"), {"name": "booking", "value": "4"}),
            ):
                with pytest.raises(MCPError) as error:
                    await ask()
                codes.append(error.value.error.code)
            return codes

    assert async_to_sync(error_response)() == [INVALID_REQUEST] * 4


def revoke() -> None:
    ApiKey.objects.update(revoked_at=timezone.now())
    revisions.bump()


def test_a_stored_file_is_not_read_once_its_tool_is_hidden_from_the_key(doors: Doors, api_key: str):
    origin = SnapshotOrigin("get_booking", caller_of_key(api_key).owner, {})
    uri = hints.file_address(StoredFile("image/png", b"pixels").store(origin, snapshots).id)

    async def outcome() -> MCPError:
        async with doors.client() as client:
            content = (await client.read_resource(uri)).contents[0]
            assert base64.b64decode(content.blob) == b"pixels"
            await run_sync(hide_get_booking)
            with pytest.raises(MCPError) as error:
                await client.read_resource(uri, cache_mode="bypass")
            return error.value

    assert "There is no such file" in async_to_sync(outcome)().error.message


def hide_get_booking() -> None:
    key = ApiKey.objects.get()
    key.hidden_tools = ["get_booking"]
    key.save()
    revisions.bump()


@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_what_fails_on_our_side_leaves_without_its_words(era: str):
    with pytest.raises(MCPError) as error, as_protocol_errors(era):
        raise RuntimeError("SELECT secret FROM /srv/data")
    assert error.value.error.code == INTERNAL_ERROR
    assert "secret" not in json.dumps([error.value.error.message, error.value.error.data])
