"""Records and documents as their callers see them (FR-010 to FR-012, FR-016 to FR-023, US2, US4)."""

import orjson
import pytest

from context_protection.core import canonical, tokens
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import Shape
from gateway.connectors.hostaway import pieces
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.models import Booking, Document, Listing
from gateway.connectors.hostaway.sample import reservations
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db

LOG = "sync-2026-11.log"


def original(model: type[Booking] | type[Listing], number: int) -> dict[str, object]:
    document: dict[str, object] = orjson.loads(model.objects.get(id=number).data)
    return document


def stored_text(name: str) -> str:
    return "".join(pieces.parts(Document.objects.get(id=name).content_id))


@pytest.mark.parametrize("number", [43000000, 43000003])
def test_a_large_booking_comes_as_a_preview_that_identifies_it(doors: Doors, number: int):
    answer = doors.mcp("get_booking", {"id": number})
    assert crawler.is_preview(answer)
    assert {"id", "guestName", "status", "propertyId", "checkInDate", "checkOutDate", "totalPrice"} <= set(
        answer["summary"]
    )
    assert answer["meta"]["originalTokens"] > 2000
    assert answer["meta"]["estimatedTokens"] <= 0.4 * answer["meta"]["originalTokens"]
    assert set(answer["meta"]["projectedFields"]) == set(answer["summary"])


def canonical_form(upstream: dict[str, object], shape: Shape) -> dict[str, object]:
    return canonical.whole(upstream, shape).value


def test_what_meta_takes_of_a_preview(doors: Doors):
    ids = {"get_booking": [each["id"] for each in crawler.walk(doors.rest, "list_bookings", {"limit": 200})]}
    ids["get_listing"] = [each["id"] for each in crawler.walk(doors.rest, "list_listings", {})]
    for operation, numbers in ids.items():
        for door in (doors.rest, doors.mcp):
            metas = [door(operation, {"id": number})["meta"] for number in numbers]
            sizes = [tokens.formula(orjson.dumps(meta).decode()) for meta in metas if meta["kind"] == "preview"]
            assert sizes
            assert max(sizes) <= 250


def test_a_small_booking_comes_whole_in_canonical_names_and_raw_as_upstream_sent_it(doors: Doors):
    answer = doors.rest("get_booking", {"id": 43000013})
    upstream = original(Booking, 43000013)
    assert crawler.own(answer) == canonical_form(upstream, BOOKINGS.shape)
    assert (answer["checkInDate"], answer["status"], answer["sourceStatus"]) == (
        upstream["arrivalDate"],
        "confirmed",
        upstream["status"],
    )
    assert "arrivalDate" not in answer
    assert answer["meta"]["emptyFields"] > 0
    assert crawler.from_parts(doors.rest, "get_booking", {"id": 43000013, "fields": "raw"}) == upstream


def test_an_upstream_name_gives_upstreams_value(doors: Doors):
    answer = doors.rest("get_booking", {"id": 43000013, "fields": "arrivalDate,sourceStatus,status,cancellationDate"})
    upstream = original(Booking, 43000013)
    assert crawler.own(answer) == {
        "arrivalDate": upstream["arrivalDate"],
        "sourceStatus": upstream["status"],
        "status": "confirmed",
        "cancellationDate": None,
    }


@pytest.mark.parametrize(
    ("operation", "number", "fields", "names"),
    [
        ("get_booking", 43000003, "id,status,total", {"id", "status", "total"}),
        ("get_booking", 43000003, "price.basePrice", {"price"}),
        ("get_booking", 43000003, "priceBreakdown", {"totalPrice", "currency", "financeField"}),
        ("get_booking", 43000003, "guestDetails", {"guestName", "guests"}),
        ("get_booking", 43000003, "propertyDetails", {"propertyId", "propertyName", "checkInDate"}),
        ("get_listing", 200100, "amenities", {"listingAmenities"}),
        ("get_listing", 200100, "price.basePrice", {"price"}),
    ],
)
def test_the_names_of_the_specification_are_understood(
    doors: Doors, operation: str, number: int, fields: str, names: set[str]
):
    number = number if operation == "get_booking" else Listing.objects.values_list("id", flat=True)[0]
    answer = crawler.own(doors.rest(operation, {"id": number, "fields": fields}))
    assert names <= set(answer)
    assert all(value is not None for value in answer.values())


def test_a_listing_without_a_special_status_is_active(doors: Doors):
    rows = doors.rest("list_listings", {})["items"]
    assert {row["status"] for row in rows} == {"active"}


@pytest.mark.parametrize("number", [43000000, 43000001, 43000002, 43000003, 43000040])
def test_a_booking_put_together_again_is_the_original_with_what_is_withheld_masked_and_named(doors: Doors, number: int):
    preview = doors.mcp("get_booking", {"id": number})
    upstream = original(Booking, number)
    masked = {name for name, value in upstream.items() if "[withheld: " in str(value)}
    assert masked == {path.partition(".")[0] for path in preview["meta"]["withheld"]}
    whole = crawler.record(doors.mcp, "get_booking", {"id": number})
    assert whole == canonical_form(upstream, BOOKINGS.shape)
    assert crawler.by_sections(doors.mcp, "get_booking", {"id": number}) == whole
    assert crawler.from_parts(doors.mcp, "get_booking", {"id": number, "fields": "raw"}) == upstream
    assert set(preview["summary"]) <= set(whole)
    assert preview["meta"]["totalFields"] == len(whole)


def test_listings_of_forty_kilobytes_come_in_parts_under_the_cap(doors: Doors):
    for listing in Listing.objects.all():
        upstream = orjson.loads(listing.data)
        assert crawler.from_parts(doors.rest, "get_listing", {"id": listing.id, "fields": "raw"}) == upstream
        whole = crawler.record(doors.rest, "get_listing", {"id": listing.id})
        assert whole == canonical_form(upstream, LISTINGS.shape)


def test_the_financial_section_is_given_alone_and_whole(doors: Doors):
    answer = doors.rest("get_booking", {"id": 43000003, "fields": "financial"})
    upstream = original(Booking, 43000003)
    lines = upstream["financeField"]
    assert [line["name"] for line in answer["financeField"]] == [line["name"] for line in lines]  # type: ignore[attr-defined]
    assert answer["totalPrice"] == upstream["totalPrice"]
    assert "guestName" not in answer


def test_fields_reach_into_nested_values(doors: Doors):
    answer = doors.rest("get_booking", {"id": 43000003, "fields": "id,financeField.*.name"})
    lines = original(Booking, 43000003)["financeField"]
    assert answer["financeField"] == [{"name": line["name"]} for line in lines]  # type: ignore[attr-defined]


def test_no_secret_leaves_and_each_is_named(doors: Doors):
    upstream = next(row for row in reservations() if row["id"] == 43000003)
    secrets = {name for name in upstream if name in {"doorCode", "guestAuthHash", "hostProxyEmail"} and upstream[name]}
    assert secrets
    for arguments in ({}, {"fields": "all"}, {"fields": "system"}, {"fields": ",".join(secrets)}):
        answer = doors.rest("get_booking", {"id": 43000003, **arguments})
        for name in secrets:
            assert str(upstream[name]) not in str(answer)
    named = doors.rest("get_booking", {"id": 43000003, "fields": ",".join(secrets)})["meta"]["withheld"]
    assert set(named) == secrets


def test_every_kind_of_secret_is_known():
    for name in ("doorCode", "doorCodeInstruction", "wifiPassword", "ccNumber", "ccNumberEndingDigits", "cvc"):
        assert is_secret(name), name


def test_long_texts_of_a_preview_end_at_a_sentence_and_say_how_to_go_on(doors: Doors):
    note = doors.rest("get_booking", {"id": 43000003})["summary"]["guestNote"]
    upstream = str(original(Booking, 43000003)["guestNote"])
    start, _, marker = note.partition(" …[+")
    first, *later = start.split(" … ")
    assert upstream.startswith(first)
    assert all(sentence in upstream for sentence in later)
    assert start[-1] in ".!?。！？"
    assert f"of {len(upstream.split()):,} words: fields=guestNote]" in marker
    assert doors.rest("get_booking", {"id": 43000003, "fields": "guestNote"})["guestNote"] == upstream


def test_a_log_comes_in_chunks_of_two_hundred_lines(doors: Doors):
    first = doors.mcp("read_document", {"id": LOG})
    assert (first["chunkIndex"], first["totalChunks"]) == (0, 50)
    assert first["metadata"]["startLine"] == 1
    assert first["metadata"]["endLine"] == 200
    assert first["metadata"]["totalLines"] == 10_000


@pytest.mark.parametrize("name", [LOG, "house-manual.md", "check-in-guide.md", "cleaning-checklist.txt"])
def test_a_document_read_to_its_end_is_the_document_byte_for_byte(doors: Doors, name: str):
    text = crawler.text(doors.rest, "read_document", {"id": name})
    assert text == stored_text(name)


def test_a_stack_trace_stays_with_its_entry(doors: Doors):
    for chunk in crawler.pages(doors.rest, "read_document", {"id": LOG}):
        assert not chunk["content"].startswith((" ", "\t", "Traceback"))


def test_a_range_gives_exactly_its_lines(doors: Doors):
    answer = doors.rest("read_document", {"id": LOG, "startLine": 100, "endLine": 200})
    lines = stored_text(LOG).splitlines(keepends=True)
    assert answer["content"] == "".join(lines[99:200])
    assert (answer["metadata"]["startLine"], answer["metadata"]["endLine"]) == (100, 200)


def test_a_range_beyond_the_end_is_clipped_to_it(doors: Doors):
    answer = doors.rest("read_document", {"id": LOG, "startLine": 9990, "endLine": 20000})
    assert answer["metadata"]["endLine"] == 10_000


def test_a_short_document_comes_whole(doors: Doors):
    answer = doors.rest("read_document", {"id": "check-in-guide.md"})
    assert answer["totalChunks"] == 1
    assert "nextCursor" not in answer


def test_a_text_that_is_replaced_while_it_is_read_is_read_to_its_end_as_it_was(doors: Doors):
    from gateway.connectors.hostaway import store

    before = stored_text(LOG)
    first = doors.rest("read_document", {"id": LOG})
    store.save_document(LOG, "Sync log", "text/x-log", "replaced\n")
    rest = crawler.text(doors.rest, "read_document", {"id": LOG, "cursor": first["nextCursor"]})
    assert first["content"] + rest == before
    assert doors.rest("read_document", {"id": LOG})["content"] == "replaced\n"
