"""What is proposed for records of unknown shape: identifying fields first, small rows, sections that are the record."""

import json
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core import projection, summaries
from context_protection.core.budget import dumps, length
from context_protection.core.fields import Field
from context_protection.core.inference import groups
from context_protection.core.inference.proposals import PREVIEW_FIELDS, ROW_CHARS, ROW_FIELDS, completed, proposed
from context_protection.core.name_words import can_be_a_section
from context_protection.core.policy import DEFAULTS, Policy
from context_protection.core.redaction import redact
from context_protection.core.shapes import ANY, Section, Shape
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.listings import LISTINGS
from gateway.connectors.hostaway.sample import listings, reservations, transactions
from gateway.connectors.hostaway.transactions import TRANSACTIONS
from tests import crawler
from tests.properties import payloads
from tests.properties.desk import Desk

UNKNOWN = json.loads(Path(__file__).with_name("unknown_records.json").read_text())
ACCOUNT = [
    pytest.param(BOOKINGS.shape, reservations, 8, id="bookings"),
    pytest.param(LISTINGS.shape, listings, 7, id="listings"),
    pytest.param(TRANSACTIONS.shape, transactions, 6, id="transactions"),
]


def row_of(*records: dict[str, Any], schema: dict[str, Any] | None = None) -> list[str]:
    return [field.source for field in proposed(records, schema).row]


def preview_of(*records: dict[str, Any], schema: dict[str, Any] | None = None) -> list[str]:
    return [field.source for field in proposed(records, schema).preview]


def sections_of(record: dict[str, Any]) -> dict[str, list[str]]:
    return proposed([record]).in_sections(record)


def large(chars: int = 500) -> dict[str, str]:
    return {"text": "x" * chars}


# -- Against what people have declared --------------------------------------------------------------


@pytest.mark.parametrize(("declared", "sample", "expected"), ACCOUNT)
@pytest.mark.parametrize("count", [1, 50])
def test_a_proposal_finds_most_of_the_row_that_a_connector_declares(
    declared: Shape, sample: Any, expected: int, count: int
):
    records = [redact(record)[0] for record in islice(sample(), count)]
    sources = {field.source for field in proposed(records).canonical.values()}
    assert len({field.source for field in declared.row} & sources) >= expected


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_row_of_an_unknown_record_identifies_it(name: str):
    assert set(UNKNOWN[name]["identifying"]) <= set(row_of(UNKNOWN[name]["record"]))


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_preview_of_an_unknown_record_is_small_and_its_sections_are_the_record(name: str):
    record = UNKNOWN[name]["record"]
    desk = Desk([record], policy=Policy(token_budget_threshold=1000))
    answer = desk("get", {"id": record["id"]} if "id" in record else {"id": None})
    if crawler.is_preview(answer):
        assert answer["meta"]["estimatedTokens"] <= 1000
        assert crawler.by_sections(desk, "get", {"id": record.get("id")}) == record


# -- Fields -----------------------------------------------------------------------------------------


def test_the_order_is_identity_names_state_dates_amounts_and_flags_last():
    record = {
        "isPaid": True,
        "currency": "EUR",
        "total": 90.5,
        "createdAt": "2026-11-20T08:00:00Z",
        "status": "open",
        "name": "Ada",
        "id": 7,
    }
    assert row_of(record) == ["id", "name", "status", "createdAt", "total", "currency", "isPaid"]


def test_the_status_comes_before_other_kinds_of_state():
    record = {"id": 1, "type": "incident", "priority": "high", "category": "print", "status": "open"}
    names = {f"kind{n}Type": f"v{n}" for n in range(9)}
    assert row_of({**names, **record})[1] == "status"


@pytest.mark.parametrize("own", ["bookingId", "booking_id", "booking-id", "BookingId"])
def test_where_nothing_is_called_id_the_first_id_of_the_record_leads(own: str):
    assert row_of({own: 5, "guestId": 9, "name": "Ada"})[0] == own


def test_what_is_null_in_all_records_gives_way_to_anything_that_is_not():
    records = [{"id": n, "name": None, "status": "", "weight": n + 0.25} for n in range(3)]
    assert row_of(*records) == ["id", "weight"]
    assert row_of({"name": None}) == ["name"]


def test_what_most_records_lack_comes_after_what_most_have():
    records = [{"id": n, "arrivalDate": f"2026-11-{10 + n}"} for n in range(9)]
    records[0] = {**records[0], **{f"date{letter}": "2025-01-01" for letter in "ABCDEFGHIJ"}}
    assert row_of(*records)[:2] == ["id", "arrivalDate"]


def test_a_rare_value_takes_no_place_from_what_every_record_has():
    names = ["id", "name", "status", "guestId", "startDate", "total", "currency", "colour", "width", "depth"]
    values = [
        (f"Ada {n}", "open", 40 + n, f"2026-11-{10 + n}", 9.5 + n, "EUR", f"c{n}", 5 * n, 7 * n) for n in range(9)
    ]
    records: list[dict[str, Any]] = [dict(zip(names, (n, *each), strict=True)) for n, each in enumerate(values)]
    records[0]["type"] = "special"
    assert row_of(*records) == names


AUTHOR = {"id": 3, "login": "ada", "url": "https://example.com/ada", "site_admin": False}
DATES = {"updated_at": "2026-11-03", "created_at": "2026-11-01"}


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (
            {"node_id": "I_kw", "sha": "6dcb09b", "commit": {"author": {"name": "Ada", "date": "2026-11-01"}, "message":
             "Mend the quay", "comment_count": 0, "tree": {"sha": "9f"}}, "author": AUTHOR, "url": "https://a/b"},
            {"sha", "commit.message", "author.login", "commit.author.date"},
        ),
        (
            {"id": 1, "number": 17, "title": "It rains", "locked": False, "state": "open", "state_reason": "reopened",
             "author_association": "OWNER", "user": AUTHOR, "closed_by": {"name": "Bo"}, "comments": 4, **DATES},
            {"number", "title", "state", "user.login", "created_at"},
        ),
        (
            {"id": "m1", "type": 0, "tts": False, "pinned": False, "mention_everyone": False, "content": "x" * 900,
             "channel_id": "4", "timestamp": "2026-11-01T10:00:00Z", "author": {"id": 3, "username": "ada"}},
            {"content", "author.username", "timestamp"},
        ),
        (
            {"sid": "SM1", "body": "Hello", "from": "+49", "to": "+33", "status": "sent", "price": "-0.01", "num_media":
             "0", "direction": "outbound-api", "api_version": "2010", "date_sent": "Sun, 01 Nov 2026 10:00:00 +0000"},
            {"sid", "body", "from", "to", "status", "price", "date_sent"},
        ),
        (
            {"key": "AB-1", "id": "1", "expand": "all", "fields": {"summary": "It rains", "created": "2026-11-01",
             "status": {"id": "2", "name": "Open"}, "assignee": {"displayName": "Ada"}, "votes": {"votes": 0}}},
            {"key", "fields.summary", "fields.status.name", "fields.created"},
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop", "uid": "u1",
             "creationTimestamp": "2026-11-01T10:00:00Z"}, "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}},
            {"metadata.name", "metadata.namespace", "metadata.creationTimestamp", "status.phase"},
        ),
        (
            {"InvoiceID": "u-1", "Type": "ACCREC", "Reference": "P/O", "InvoiceNumber": "INV-1", "Status": "PAID",
             "LineAmountTypes": "Inclusive", "IsDiscounted": False, "Contact": {"Name": "Ada"}, "Total": 9.5,
             "Date": "2026-11-01", "CurrencyCode": "EUR"},
            {"InvoiceNumber", "Status", "Contact.Name", "Total", "Date"},
        ),
        (
            {"InvoiceID": "u-1", "BrandingThemeID": "u-2", "InvoiceNumber": "INV-1", "Status": "PAID", "SubTotal": 9.5,
             "TotalTax": 1.5, "Total": 11, "AmountPaid": 4.5, "AmountDue": 6.5, "LineAmountTypes": "Inclusive",
             "Contact": {"Name": "Ada"}, "Reference": "P/O", "DateString": "2026-11-01", "CurrencyCode": "EUR"},
            {"InvoiceID", "InvoiceNumber", "Contact.Name", "Total", "AmountDue", "DateString"},
        ),
        (
            {"kind": "calendar#event", "etag": '"3181161784712000"', "id": "e1", "status": "confirmed",
             "summary": "Retro", "created": "2026-10-01T08:00:00Z", "updated": "2026-10-02T08:00:00Z",
             "iCalUID": "e1@example.com",
             "organizer": {"email": "a@example.com", "displayName": "Ada", "self": True}, "eventType": "default",
             "start": {"dateTime": "2026-11-03T09:30:00+01:00", "timeZone": "Europe/Warsaw"}, "sequence": 0,
             "end": {"dateTime": "2026-11-03T10:00:00+01:00", "timeZone": "Europe/Warsaw"}, "guestsCanModify": False},
            {"summary", "status", "start.dateTime", "end.dateTime", "organizer.displayName"},
        ),
        (
            {"object": "page", "id": "p1", "created_time": "2026-11-01T10:00:00Z", "archived": False, "properties": {
                "Name": {"id": "title", "type": "title", "title": [{"type": "text", "plain_text": "Mend the quay"}]},
                "Status": {"id": "s", "type": "status", "status": {"id": "1", "name": "Doing", "color": "blue"}},
                "Due": {"id": "d", "type": "date", "date": {"start": "2026-11-20", "end": None}},
                "Owner": {"id": "o", "type": "people", "people": [{"id": "u1", "name": "Ada"}]}}},
            {"properties.Name.title.*.plain_text", "properties.Status.status.name", "properties.Due.date.start",
             "properties.Owner.people.*.name"},
        ),
        (
            {"added_at": "2026-11-01T10:00:00Z", "is_local": False, "added_by": {"id": "ada", "type": "user"},
             "track": {"id": "t1", "name": "Night Ferry", "explicit": False, "disc_number": 1, "duration_ms": 1,
                       "album": {"name": "Quay"}, "artists": [{"id": "a1", "name": "Bo"}]}},
            {"track.id", "track.name", "track.album.name", "track.artists.*.name", "added_at"},
        ),
        (
            {"Id": "0061", "Name": "Quay Ltd", "Type": "New", "StageName": "Closed Won", "Amount": 9000.0,
             "IsWon": True, "CloseDate": "2026-11-30", "CreatedDate": "2026-01-01", "ForecastCategory": "Closed",
             "OwnerId": "0051", "Probability": 100.0, "LeadSource": "Web", "FiscalYear": 2026,
             "SystemModstamp": "2026-11-01"},
            {"Id", "Name", "StageName", "Amount", "CloseDate", "OwnerId"},
        ),
        (
            {"id": "c1", "title": None, "state": "open", "open": True, "read": False, "created_at": 1_790_000_000,
             "source": {"id": "s1", "body": "It rains", "author": {"type": "user", "name": "Ada", "email": "a@b.co"}}},
            {"id", "state", "source.author.name", "source.body", "created_at"},
        ),
    ],
    ids=[
        "commit", "issue", "message", "text message", "wrapped issue", "pod", "invoice", "open invoice", "event",
        "typed properties", "listed track", "opportunity", "conversation",
    ],
)  # fmt: skip
def test_a_row_holds_what_a_person_looks_for(record: dict[str, Any], wanted: set[str]):
    assert wanted <= set(row_of(record))


def test_what_is_the_same_in_every_row_or_is_read_by_no_person_gives_way():
    def row(n: int) -> dict[str, Any]:
        nobody_reads = {f"tag{letter}": f"I_kwDO{n:04}x{letter}7f" for letter in "abcdefghi"}
        same = {"kind": "task", "expand": "names,schema", "seller_message": {"message": "Complete."}}
        return {"id": n, **nobody_reads, **same, "colour": f"c{n}", "weight": n + 0.5}

    assert {"colour", "weight"} <= set(row_of(*map(row, range(20))))


def test_a_status_a_person_and_a_city_stay_though_all_rows_have_the_same():
    rows = [
        {"id": n, "status": "open", "owner": {"name": "Ada"}, "city": "Galway", "width": n + 0.5} for n in range(20)
    ]
    assert row_of(*rows) == ["id", "status", "owner.name", "city", "width"]


def test_the_own_status_of_a_record_comes_before_flags_that_say_a_state():
    assert row_of({"id": 1, "closed": True, "status": "open"}) == ["id", "status", "closed"]
    assert row_of({"id": 1, "urgent": True, "closed": True}) == ["id", "closed", "urgent"]


def test_a_schema_alone_tells_dates_amounts_and_ids_by_their_names():
    text = {"type": "string", "maxLength": 5000}
    properties = {
        "id": text, "email": {"type": "string"}, "created": {"type": "integer"}, "livemode": {"type": "boolean"},
        "paid_amount": {"type": "string", "pattern": "^[0-9]+$"}, "charged_at": {"type": "string"}, "body": text,
        "user": {"type": "object", "required": ["login"], "properties": {"name": text, "login": text}},
    }  # fmt: skip
    shape = proposed([], {"type": "object", "properties": properties})
    assert {"id", "email", "created", "paid_amount", "charged_at", "body", "user.login"} <= {
        field.name for field in shape.row
    }


def test_two_fields_with_the_same_values_are_one():
    records = [{"id": n, "created": f"2026-11-{n}", "createdAt": f"2026-11-{n}", "key": str(n)} for n in range(10, 14)]
    assert row_of(*records) == ["id", "created"]


def test_small_values_that_are_equal_by_chance_stay():
    assert {"nights", "adults"} <= set(row_of({"id": 1, "nights": 2, "adults": 2}))


def test_what_stands_one_level_down_is_shown_by_its_path():
    record = {"id": 1, "customer": {"id": 4, "name": "Ada", "notes": "x"}, "price": {"amount": 9.5, "currency": "EUR"}}
    assert row_of(record) == ["id", "customer.name", "customer.id", "price.amount", "price.currency"]


def test_the_names_in_a_short_list_of_objects_are_shown_and_those_in_a_long_one_are_not():
    record = {"id": 1, "tags": [{"n": 1, "name": "red"}, {"n": 2, "name": "wet"}], "rooms": [{"name": "a"}] * 30}
    shape = proposed([record])
    assert summaries.rows([record], shape, DEFAULTS)[0] == {"id": 1, "tags.*.name": ["red", "wet"]}


def test_a_long_text_is_only_in_the_preview_and_clipped():
    record = {"id": 1, "description": "It rains on the quay. " * 40}
    shape = proposed([record])
    assert [field.source for field in shape.row] == ["id"]
    assert summaries.preview(record, shape, DEFAULTS)["description"].endswith(": fields=description]")


def test_a_row_is_small_on_average_whatever_the_values():
    records = [{f"name{n}": f"{n} {row} " + "y" * 200 for n in range(8)} for row in range(20)]
    shape = proposed(records)
    sizes = [length(dumps(summaries.rows([record], shape, DEFAULTS)[0])) for record in records]
    assert ROW_CHARS / 2 < sum(sizes) / len(sizes) <= ROW_CHARS


def test_what_is_a_secret_by_its_name_is_not_proposed():
    record = {"id": 1, "accessToken": "s", "passwordHash": "s", "pin_code": "s", "auth": {"name": "s"}}
    shape = proposed([record])
    assert [field.source for field in shape.canonical.values()] == ["id"]


@pytest.mark.parametrize("name", ["", "a.b", "a,b", " a", "*", "all", "n" * 81])
def test_what_fields_could_not_name_is_not_proposed(name: str):
    assert row_of({"id": 1, name: "x"}) == ["id"]


def test_the_order_of_keys_does_not_choose_between_unlike_fields():
    record = UNKNOWN["shopify_order"]["record"]
    turned = dict(reversed(record.items()))
    assert set(row_of(record)[:3]) == set(row_of(turned)[:3])
    assert proposed([record]) == proposed([record])


# -- From a schema ----------------------------------------------------------------------------------

ISSUE = {
    "allOf": [
        {"$ref": "#/components/schemas/Thing"},
        {
            "type": "object",
            "required": ["dueDate"],
            "properties": {
                "startDate": {"type": "string", "format": "date"},
                "dueDate": {"type": ["string", "null"], "format": "date"},
                "title": {"type": "string", "maxLength": 255},
                "body": {"type": "string", "maxLength": 60000},
                "state": {"type": "string", "enum": ["open", "closed"]},
                "owner": {"$ref": "#/components/schemas/Person"},
                "comments": {"type": "array", "items": {"$ref": "#/components/schemas/Person"}},
                "locked": {"type": "boolean", "nullable": True},
            },
        },
    ],
    "components": {
        "schemas": {
            "Thing": {"properties": {"id": {"type": "integer"}}},
            "Person": {
                "properties": {
                    "login": {"type": "string"},
                    "email": {"type": "string", "format": "email"},
                    "about": {"type": "string"},
                    "friends": {"type": "array", "items": {"$ref": "#/components/schemas/Person"}},
                }
            },
        }
    },
}


def test_a_schema_alone_gives_fields_and_sections():
    assert row_of(schema=ISSUE) == [
        "id",
        "title",
        "state",
        "owner.login",
        "owner.email",
        "dueDate",
        "startDate",
        "locked",
    ]
    assert preview_of(schema=ISSUE) == ["body"]
    assert [section.name for section in proposed([], ISSUE).sections] == ["comments"]


def test_a_required_field_comes_before_an_optional_one():
    properties = {f"{name}Date": {"type": "string", "format": "date"} for name in ("first", "second", "last")}
    schema = {"type": "object", "properties": properties, "required": ["lastDate"]}
    assert row_of(schema=schema)[0] == "lastDate"


def test_records_are_believed_before_their_schema():
    shape = proposed([{"id": 1, "title": "x"}], ISSUE)
    assert [field.source for field in shape.canonical.values()] == ["id", "title"]
    assert "dueDate" in shape.known


def test_definitions_may_stand_beside_the_schema():
    schema = {"$ref": "#/definitions/A", "definitions": {"A": {"properties": {"id": {"type": "string"}}}}}
    assert row_of(schema=schema) == ["id"]


def test_a_schema_that_refers_to_itself_ends():
    circle: dict[str, Any] = {"properties": {"id": {"type": "integer"}}}
    circle["properties"]["parent"] = circle
    circle["allOf"] = [circle, {"$ref": "#/definitions/A"}]
    circle["definitions"] = {"A": {"$ref": "#/definitions/A"}}
    assert row_of(schema=circle) == ["id", "parent.id"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": [1]},
        {"allOf": {}, "definitions": []},
        {"type": "array", "items": {}},
        {"properties": {"a": True, "b": None, "c": {"type": {"x": 1}, "enum": [], "maxLength": -4}}},
        {"required": "id", "enum": "x", "properties": {"$ref": {"$ref": 7}}},
    ],
)
def test_a_schema_that_makes_no_sense_is_read_as_far_as_it_does(schema: dict[str, Any]):
    shape = proposed([{"id": 1}], schema)
    assert [field.source for field in shape.row] == ["id"]
    proposed([], schema)


# -- Sections ---------------------------------------------------------------------------------------


def test_each_large_value_is_a_section_and_small_ones_are_not():
    record = {"id": 1, "images": [large()], "rules": large(), "tags": ["a"], "size": {"w": 1}}
    assert sections_of(record) == {"other": ["id", "tags", "size"], "images": ["images"], "rules": ["rules"]}


@pytest.mark.parametrize(
    "names", ["guestName guestAge guestCity", "guest_name guest_age guest", "x-guest y-guest guest-z"]
)
def test_names_that_share_a_word_stand_together(names: str):
    record = dict.fromkeys(["id", *names.split()], "x")
    together = [section for section, fields in sections_of(record).items() if fields == names.split()]
    assert together == ["guest_fields" if "guest" in record else "guest"]


def test_a_name_that_was_not_seen_goes_where_its_word_does_or_to_the_rest():
    shape = proposed([{"guestName": "a", "guestAge": 1, "guestCity": "b"}])
    assert shape.section_of("guestPhone") == "guest"
    assert shape.section_of("guesthouse") == "other"
    assert shape.section_of("never seen") == "other"


def test_a_section_that_is_too_large_is_parted_by_the_second_word():
    record = {f"guest{kind}{n}": "x" * 399 for kind in ("Note", "Plan") for n in range(14)}
    assert {name: len(fields) for name, fields in sections_of(record).items()} == {"guest_note": 14, "guest_plan": 14}


def test_long_texts_leave_a_rest_that_is_too_large():
    record = {"id": 1, "story": "x" * 5000, "poem": "y" * 4000}
    assert sections_of(record) == {"other": ["id"], "story": ["story"], "poem": ["poem"]}


@pytest.mark.parametrize("name", ["all", "a.b", "a,b", "a b", "", "other"])
def test_a_large_value_whose_name_cannot_be_asked_for_goes_with_the_rest(name: str):
    sections = sections_of({"id": 1, name: large()})
    assert list(sections.values()) == [["id", name]]


def test_a_record_of_very_many_names_has_few_sections():
    record = {f"key{n}_{n % 50}": large() for n in range(3000)}
    assert len(sections_of(record)) <= groups.MOST + 1


# -- In answers -------------------------------------------------------------------------------------


def test_what_a_shape_declares_is_not_proposed():
    shape = Shape(row=(Field("name"),), sections=(Section("all_of_it", ("*",)),), withheld_in_lists=("phone",))
    assert completed(shape, [{"id": 1, "name": "x"}]) == shape
    assert completed(Shape(withheld_in_lists=("phone",)), [{"id": 1}]).withheld_in_lists == ("phone",)


def test_a_path_that_a_preview_shows_is_asked_for_as_any_path():
    record = {"id": 1, "customer": {"name": "Ada", "notes": "x" * 9000}}
    desk = Desk([record], policy=Policy(token_budget_threshold=500))
    assert desk("get", {"id": 1})["summary"]["customer.name"] == "Ada"
    assert desk("get", {"id": 1, "fields": "customer.name"})["customer"] == {"name": "Ada"}
    for shape in (ANY, proposed([record])):
        rows = Desk([record], shape=shape)("list", {"fields": "customer.name"})["items"]
        assert rows == [{"customer": {"name": "Ada"}}]


def test_a_section_of_a_preview_can_be_asked_of_a_list_too():
    rows = [{"id": n, "guestName": "Ada", "guestAge": n, "guestCity": "Galway", "note": "x" * 40} for n in range(5)]
    items = Desk(rows)("list", {"fields": "guest"})["items"]
    assert items == [{"guestName": "Ada", "guestAge": n, "guestCity": "Galway"} for n in range(5)]


def test_the_condensed_rows_of_an_unknown_type_are_alike_and_keep_their_id():
    rows = [{"id": n, "title": f"row {n}", "body": "A long note. " * 80, "n": None} for n in range(60)]
    rows[7]["title"] = "x" * 9000
    page = Desk(rows)("list", {"limit": 50})
    assert page["meta"]["kind"] == "preview"
    assert {tuple(row) for row in crawler.rows(page)} == {("id", "title")}
    assert len(crawler.rows(page)[7]["title"]) < 400


# -- Laws -------------------------------------------------------------------------------------------


@given(st.lists(payloads.records, min_size=1, max_size=6))
def test_a_proposal_resolves_covers_and_stays_small_whatever_the_records(records: list[dict[str, Any]]):
    shape = proposed(records)
    assert shape == proposed(records)
    assert len(shape.row) <= ROW_FIELDS
    assert len(shape.preview) <= PREVIEW_FIELDS
    for field in shape.canonical.values():
        assert any(projection.resolves(record, field.source) for record in records)
    rows = [length(dumps(summaries.rows([record], shape, DEFAULTS)[0])) for record in records]
    assert sum(rows) / len(rows) <= ROW_CHARS + 100 * ROW_FIELDS  # where notes on cut texts are long
    for record in records:
        sections = shape.in_sections(record)
        assert sorted(chain.from_iterable(sections.values())) == sorted(record)
        assert not [name for name, fields in sections.items() if name in record and fields != [name]]
    names = [section.name for section in shape.sections]
    assert len(set(names)) == len(names) <= groups.MOST
    assert all(can_be_a_section(name) and name != "other" for name in names)


# -- Extremes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        {f"key {n}": 1 for n in range(100_000)},
        {f"name_{n}": "the same" for n in range(5_000)},
        {"list": [1] * 1_000_000, "map": {str(n): n for n in range(100_000)}, "text": "x" * 5_000_000},
        {"deep": json.loads("[" * 900 + "]" * 900)},
    ],
    ids=["wide", "equal", "large", "deep"],
)
def test_any_record_gets_a_small_proposal(record: dict[str, Any]):
    shape = proposed([record])
    assert len(shape.row) <= ROW_FIELDS
    assert len(shape.sections) <= groups.MOST
