"""`search`: rows of a list and lines of a text by their words; handles of documents that nobody has read."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from context_protection.configuration.revisions import revisions
from context_protection.core import tokens
from context_protection.core.folding import fold_for_search
from context_protection.orm import query
from gateway.access.models import ApiKey
from gateway.connectors.hostaway import pieces, store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Booking, Document
from tests import crawler
from tests.doors import Doors

pytestmark = pytest.mark.django_db
LOG = "sync-2026-11.log"
MATCHES_TOKENS = 700  # Claude tokens of the first matches in a log of 10,000 lines


@pytest.fixture
def guests() -> None:
    """Bookings besides those of the account, with words that these do not have."""
    bookings = [
        {"id": 1, "guestName": "Jörg Tränkenau", "status": "new", "guestNote": "Zwei Dromedare"},
        {"id": 2, "guestName": "JULE TRANKENAU", "status": "cancelled", "guestNote": "Quillet by the DROMEDARE gate"},
        {"id": 3, "guestName": "Anna Quillet", "guestEmail": "dromedare@example.org", "status": "new"},
        {"id": 4, "customFieldValues": [{"customField": {"name": "Pets"}, "value": "Drômedaré"}], "status": "new"},
    ]
    list(store.save(BOOKINGS, bookings))


def ids(answer: dict[str, Any]) -> list[Any]:
    return [row["id"] for row in crawler.rows(answer)]


# -- Lists ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("trankenau", [1, 2]),
        ("Tränkenau", [1, 2]),
        ("DROMEDARÉ", [1, 2, 4]),  # not 3: lists withhold addresses
        ("romedar", [1, 2, 4]),
        ("dromedare zwei", [1]),
        ("dromedare  quillet", [2]),
        ("trankenau dromedare", []),  # in two texts
    ],
)
@pytest.mark.usefixtures("guests")
def test_a_row_is_found_by_words_that_one_of_its_texts_contains(doors: Doors, words: str, found: list[int]):
    for ask in (doors.mcp, doors.rest, doors.post):
        assert ids(ask("list_bookings", {"search": words, "order": "id"})) == found


@pytest.mark.usefixtures("guests")
def test_a_search_goes_with_filters_conditions_order_fields_and_totals(doors: Doors):
    answer = doors.mcp("list_bookings", {"search": "dromedare", "order": "-id", "fields": "id"})
    assert answer["items"] == [{"id": 4}, {"id": 2}, {"id": 1}]
    assert ids(doors.mcp("list_bookings", {"search": "dromedare", "status": "cancelled"})) == [2]
    assert ids(doors.mcp("list_bookings", {"search": "dromedare", "where": {"id": {"lt": 2}}})) == [1]
    totals = {"groupBy": ["status"], "metrics": [{"op": "count"}], "orderBy": "status"}
    groups = doors.mcp("list_bookings", {"search": "dromedare", "aggregate": totals})["groups"]
    assert groups == [{"status": "cancelled", "count": 1}, {"status": "confirmed", "count": 2}]
    handle = doors.mcp("list_bookings", {"search": "dromedare", "format": "handle"})["meta"]
    assert handle["totalCount"] == 3
    counted = doors.mcp("result_query", {"handle": handle["resultHandle"], "sql": "SELECT count(*) AS n FROM rows"})
    assert counted["items"] == [{"n": 3}]


def test_a_search_is_walked_to_its_end_with_the_right_total(doors: Doors):
    """A client may repeat the search with the cursor, but not change it."""
    expected = [
        row.id
        for row in Booking.objects.order_by("-inserted_on", "-id")
        if any("ashgrove" in fold_for_search(text).lower() for text in texts_of(orjson.loads(row.data)))
    ]
    first = doors.mcp("list_bookings", {"search": "Ashgrove", "limit": 3})
    assert first["meta"]["totalCount"] == len(expected) > 6
    assert [
        row["id"] for row in crawler.walk(doors.rest, "list_bookings", {"search": "ashgrove", "limit": 3})
    ] == expected
    following = {"search": "Ashgrove", "cursor": first["nextCursor"]}
    assert ids(doors.mcp("list_bookings", following)) == expected[3:6]
    assert doors.mcp("list_bookings", {**following, "search": "x"})["error"]["reason"] == "cursor_mismatch"


def texts_of(value: Any, name: str = "") -> Iterator[str]:
    """The texts of a booking, without the contact data that lists withhold."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from texts_of(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from texts_of(each, name)
    elif isinstance(value, str) and not any(secret in name.lower() for secret in ("email", "phone", "address")):
        yield value


def test_canonical_values_are_searched_as_they_are_shown(doors: Doors):
    confirmed = doors.mcp("list_bookings", {"search": "confirmed", "limit": 1})["meta"]["totalCount"]
    assert confirmed >= Booking.objects.filter(status="confirmed").count() > 0


def test_a_search_that_finds_nothing_says_what_each_word_finds(doors: Doors):
    notes = doors.mcp("list_listings", {"search": "pool zyzzyva", "where": {"city": "Lisboa"}})["meta"]["notes"]
    assert notes[0].startswith("Rows that each filter alone lets through: search 0, city ")
    assert notes[1].startswith("Rows with each word of search alone: pool ")
    assert notes[1].endswith("zyzzyva 0.")


@pytest.mark.parametrize(("words", "advice"), [("  ", "Set search to a word."), ("x" * 501, "Search for less.")])
def test_a_search_without_a_word_or_with_too_many_says_what_to_do(doors: Doors, words: str, advice: str):
    for operation, more in (("list_bookings", {}), ("list_documents", {}), ("read_document", {"id": LOG})):
        error = doors.mcp(operation, {**more, "search": words})["error"]
        assert (error["reason"], error["data"]["suggestion"]) == ("invalid_search", advice)


def test_a_search_in_too_many_rows_says_how_to_narrow_it(doors: Doors, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(query, "MAX_READ", 100)
    error = doors.mcp("list_bookings", {"search": "pool"})["error"]
    assert (error["reason"], error["data"]["parameter"]) == ("too_many_rows", "search")
    assert "where" in error["data"]["suggestion"]
    narrowed = {"search": "zyzzyva", "where": {"status": "cancelled"}}
    assert doors.mcp("list_bookings", narrowed)["meta"]["notes"] == [
        "Rows that each filter alone lets through: status 49."
    ]


def test_what_is_withheld_cannot_be_found_by_searching(doors: Doors):
    _, revealing = ApiKey.objects.issue("insider", reveal=["doorCode"])
    list(store.save(BOOKINGS, [{"id": 1, "status": "new", "doorCode": "QX4711QX"}]))
    revisions.bump()
    assert ids(doors.mcp("list_bookings", {"search": "qx4711"})) == []
    assert ids(Doors(revealing).mcp("list_bookings", {"search": "qx4711"})) == [1]


# -- Texts ------------------------------------------------------------------------------------------


def lines_of(name: str) -> list[str]:
    return "".join(pieces.parts(Document.objects.get(id=name).content_id)).splitlines()


def test_the_lines_of_a_log_that_match_are_found_without_reading_it(doors: Doors):
    lines = lines_of(LOG)
    expected = [number for number, line in enumerate(lines, start=1) if "error" in line.lower()]
    for ask in (doors.mcp, doors.rest, doors.post):
        answer = ask("read_document", {"id": LOG, "search": "ERROR"})
        assert tokens.claude.count(orjson.dumps(answer).decode()) <= MATCHES_TOKENS
        assert answer["meta"]["totalCount"] == len(expected)
        assert [row["line"] for row in answer["items"]] == expected[:5]
        walked = crawler.walk(ask, "read_document", {"id": LOG, "search": "ERROR"})
        assert [row["line"] for row in walked] == expected
        assert all(row["match"].removesuffix(" …") in lines[row["line"] - 1] for row in walked)


def test_a_match_says_in_which_chunk_it_is_and_reading_goes_on_from_there(doors: Doors):
    for name, words in ((LOG, "timeouterror upstream"), ("house-manual.md", "oven")):
        first = doors.mcp("read_document", {"id": name})
        chunks = [first]
        while "nextCursor" in chunks[-1]:
            chunks.append(doors.mcp("read_document", {"cursor": chunks[-1]["nextCursor"]}))
        found = doors.mcp("read_document", {"id": name, "search": words})
        for row in found["items"]:
            place = chunks[row["chunkIndex"]]["metadata"]
            assert place["startLine"] <= row["line"] <= place["endLine"]
        line = found["items"][0]["line"]
        _, arguments = crawler.details(found["meta"]["detailsAvailable"])
        read = doors.mcp("read_document", arguments)
        assert read["metadata"]["startLine"] == line
        assert read["content"].splitlines() == lines_of(name)[line - 1 : line + 19]


def test_a_match_far_inside_a_long_line_is_read_by_its_chunk(doors: Doors):
    words = " ".join(f"heron{number} and more." for number in range(3_000))
    store.save_document("line.txt", "Line", "text/plain", f"first line\n{words}\nlast line")
    for ask in (doors.mcp, doors.rest, doors.post):
        found = ask("read_document", {"id": "line.txt", "search": "heron2500"})
        (row,) = found["items"]
        operation, arguments = crawler.details(found["meta"]["detailsAvailable"])
        read = ask(operation, arguments)
        assert (row["line"], read["chunkIndex"]) == (2, row["chunkIndex"])
        assert "heron2500 " in read["content"]
        assert crawler.text(ask, operation, arguments).startswith(read["content"])
        assert crawler.text(ask, operation, arguments).endswith("\nlast line")


def test_a_line_matches_by_all_words_in_any_order_without_accents(doors: Doors):
    store.save_document("notes.txt", "Notes", "text/plain", "Der Ofen im Gästehaus\nder Ofen\nGASTEHAUS, Öfen\n")
    rows = doors.mcp("read_document", {"id": "notes.txt", "search": "gästehaus ofen"})["items"]
    assert [(row["line"], row["match"]) for row in rows] == [(1, "Der Ofen im Gästehaus"), (3, "GASTEHAUS, Öfen")]


@pytest.mark.parametrize(
    ("span", "found"), [({"startLine": 3}, [3, 5]), ({"endLine": 3}, [1, 3]), ({"startLine": 2, "endLine": 4}, [3])]
)
def test_a_search_keeps_to_the_lines_that_are_asked_for(doors: Doors, span: dict[str, int], found: list[int]):
    store.save_document("odd.txt", "Odd", "text/plain", "heron\ncrane\nheron\ncrane\nheron")
    answer = doors.mcp("read_document", {"id": "odd.txt", "search": "heron", **span})
    assert [row["line"] for row in answer["items"]] == found
    beyond = doors.mcp("read_document", {"id": "odd.txt", "search": "heron", "startLine": 6})
    assert beyond["error"]["data"]["parameter"] == "startLine"


def test_a_search_with_many_matches_goes_on_where_it_ended(doors: Doors):
    store.save_document("many.txt", "Many", "text/plain", "heron\ncrane\n" * 150)
    found: list[int] = []
    arguments: dict[str, Any] = {"id": "many.txt", "search": "heron"}
    while True:
        meta = doors.mcp("read_document", arguments)["meta"]
        found += [row["line"] for row in crawler.walk(doors.mcp, "read_document", arguments)]
        if "nextFrom" not in meta:
            break
        assert f"startLine={meta['nextFrom']}" in meta["notes"][0]
        arguments["startLine"] = int(meta["nextFrom"])
    assert found == list(range(1, 300, 2))


def test_a_search_that_misses_says_what_each_word_finds(doors: Doors):
    answer = doors.mcp("read_document", {"id": "house-manual.md", "search": "ramp zyzzyva"})
    assert answer["items"] == []
    assert answer["meta"]["notes"] == [
        "None of 996 lines has all words of search. Try fewer, or parts of words.",
        "Lines with each word of search alone: ramp 1, zyzzyva 0.",
    ]


def test_a_file_that_is_no_text_cannot_be_searched(doors: Doors):
    store.save_document("plan.pdf", "Plan", "application/pdf", b"%PDF-1.7\0\xff\x01\x02")
    error = doors.mcp("read_document", {"id": "plan.pdf", "search": "ramp"})["error"]
    assert (error["reason"], error["data"]["suggestion"]) == ("invalid_search", "Call it again without search.")
    (row,) = doors.mcp("list_documents", {"where": {"id": "plan.pdf"}})["items"]
    assert "handle" not in row


def test_the_matches_of_a_search_are_a_result_like_any_other(doors: Doors):
    described = doors.mcp("read_document", {"id": LOG, "search": "ERROR", "format": "handle"})
    assert described["meta"]["totalCount"] == 30
    handle, sql = described["meta"]["resultHandle"], "SELECT count(*) AS n FROM rows WHERE line > 5000"
    lines = lines_of(LOG)[5000:]
    expected = sum("error" in line.lower() for line in lines)
    assert doors.mcp("result_query", {"handle": handle, "sql": sql})["items"] == [{"n": expected}]


# -- Handles of documents that nobody has read ------------------------------------------------------


def handle_of(doors: Doors, name: str) -> str:
    (handle,) = (row["handle"] for row in doors.mcp("list_documents", {})["items"] if row["id"] == name)
    return str(handle)


def test_a_listing_names_a_handle_for_each_text_and_stores_nothing(
    doors: Doors, django_assert_num_queries: Callable[[int], Any]
):
    doors.mcp("list_documents", {"order": "title"})
    with django_assert_num_queries(1):
        rows = doors.mcp("list_documents", {"order": "id"})["items"]
    assert len({row["handle"] for row in rows}) == len(rows) > 3


def test_a_document_is_searched_queried_and_read_by_its_handle_before_it_was_opened(doors: Doors):
    handle = handle_of(doors, LOG)
    expected = sum("error" in line.lower() for line in lines_of(LOG))
    for ask in (doors.mcp, doors.rest, doors.post):
        assert ask("result_search", {"handle": handle, "text": "ERROR"})["meta"]["totalCount"] == expected
        query = {"handle": handle, "sql": "SELECT count(*) AS n FROM rows WHERE level = 'ERROR'"}
        assert ask("result_query", query)["items"] == [{"n": 15}]
    part = doors.mcp("result_get", {"handle": handle, "startLine": 10, "endLine": 12})
    assert part["content"].splitlines() == lines_of(LOG)[9:12]


def test_a_handle_of_a_document_is_of_its_version_and_of_keys_that_may_read_it(doors: Doors):
    store.save_document("changing.log", "Changing", "text/plain", "first\n")
    handle = handle_of(doors, "changing.log")
    _, other = ApiKey.objects.issue("without documents", hidden_tools=["read_document"])
    revisions.bump()
    assert "handle" not in Doors(other).mcp("list_documents", {})["items"][0]
    error = Doors(other).mcp("result_search", {"handle": handle, "text": "first"})["error"]
    assert error["reason"] == "handle_invalid"
    store.save_document("changing.log", "Changing", "text/plain", "second\n")
    error = doors.mcp("result_search", {"handle": handle, "text": "first"})["error"]
    assert error["reason"] == "handle_invalid"
    assert handle_of(doors, "changing.log") != handle


def test_the_random_characters_of_a_handle_are_not_searched(doors: Doors):
    handle = handle_of(doors, LOG)
    assert ids(doors.mcp("list_documents", {"search": handle})) == []
    assert ids(doors.mcp("list_documents", {"search": "synchronisation"})) == [LOG]


def test_result_search_ignores_accents(doors: Doors):
    list(store.save(BOOKINGS, [{"id": 1, "guestName": "Jörg Straßner", "status": "new"}]))
    handle = doors.mcp("list_bookings", {"where": {"id": 1}, "format": "handle"})["meta"]["resultHandle"]
    for text in ("jorg", "JÖRG STRASSNER", "rg straß"):
        hits = doors.mcp("result_search", {"handle": handle, "text": text})["items"]
        assert [(hit["path"], hit["match"]) for hit in hits] == [("guestName", "Jörg Straßner")]
