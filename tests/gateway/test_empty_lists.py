"""An empty list says which filter leaves nothing, and what is nearest; names are found without accents and case."""

from typing import Any

import pytest

from context_protection.core import list_queries
from context_protection.core.rows import MemoryRows
from gateway.connectors.hostaway import store
from gateway.connectors.hostaway.bookings import BOOKINGS
from gateway.connectors.hostaway.models import Document
from tests.doors import Doors

pytestmark = pytest.mark.django_db
GUESTS = ["Jörg Brückenau", "Anna Brückenau", "JULE BRÜCKENAU", "Søren Ångström", "Łukasz Żak", "จันทร์ แสง", "김민준"]


@pytest.fixture
def guests() -> None:
    bookings = [{"id": number, "guestName": name, "status": "new"} for number, name in enumerate(GUESTS, start=1)]
    list(store.save(BOOKINGS, bookings))


def notes(answer: dict[str, Any]) -> list[str]:
    found: list[str] = answer["meta"].get("notes", [])
    return found


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Bruckenau", GUESTS[:3]),
        ("brückenau", GUESTS[:3]),
        ("JORG", GUESTS[:1]),
        ("soren angstrom", GUESTS[3:4]),
        ("lukasz", GUESTS[4:5]),
        ("จันทร์", GUESTS[5:6]),
        ("김민", GUESTS[6:]),
        ("기", []),
    ],
)
@pytest.mark.usefixtures("guests")
def test_names_are_found_without_accents_and_case(doors: Doors, written: str, names: list[str]):
    for arguments in ({"guestName": written}, {"where": {"guestName": {"contains": written}}}):
        where = {**arguments.get("where", {}), "id": {"lt": 100}}
        rows = doors.mcp("list_bookings", {**arguments, "where": where, "order": "id"})["items"]
        assert [row["guestName"] for row in rows] == names


@pytest.mark.usefixtures("guests")
def test_an_empty_list_says_what_each_filter_alone_lets_through_and_which_values_are_nearest(doors: Doors):
    given = {"guestName": "Brukenau", "status": "cancelled", "checkInFrom": "2026-01-01", "minTotalPrice": 1}
    counts, nearest = notes(doors.mcp("list_bookings", given))
    assert "guestName 0" in counts
    assert "status 49" in counts
    assert "checkInFrom" in counts
    assert "minTotalPrice" not in counts, "three are enough"
    assert "Brückenau (1)" in nearest
    assert notes(doors.rest("list_bookings", given)) == [counts, nearest]


@pytest.mark.parametrize(
    ("operation", "where", "expected"),
    [
        ("list_listings", {"city": "Krakow"}, ["city 0", "Kraków (1)"]),
        ("list_listings", {"city": "Lissabon", "bedrooms": {"gte": 1}}, ["city 0, bedrooms 12", "Lisbon (1)"]),
        ("list_listings", {"country": {"contains": "Portugaal"}}, ["country 0", "Portugal (1)"]),
        ("list_bookings", {"channel": "airbnb"}, ["channel 0", "airbnbOfficial (409)"]),
        ("list_bookings", {"currency": "EUR", "nights": {"gt": 900}}, ["currency 96, nights 0"]),
        ("list_documents", {"title": "checkin guide"}, ["title 0", "Check-in guide (1)"]),
    ],
)
def test_conditions_are_explained_in_the_same_way(
    doors: Doors, operation: str, where: dict[str, Any], expected: list[str]
):
    answer = doors.mcp(operation, {"where": where})
    assert answer["items"] == []
    for found, part in zip(notes(answer), expected, strict=True):
        assert part in found


def test_a_value_that_lists_withhold_is_not_offered(doors: Doors):
    about = notes(doors.mcp("list_bookings", {"where": {"guestEmail": {"contains": "@"}, "nights": 900}}))
    assert len(about) == 1
    assert "@" not in about[0]


@pytest.mark.parametrize("arguments", [{}, {"status": "cancelled"}, {"where": {"nights": {"gte": 1}}}])
def test_a_list_with_rows_explains_nothing(doors: Doors, arguments: dict[str, Any]):
    assert notes(doors.mcp("list_bookings", arguments)) == []


def test_rows_of_an_api_that_nobody_declared_are_explained_too():
    rows = [{"owner": "Hélène"}, {"owner": "Helene"}, {"owner": "Bob"}]
    counts, nearest = list_queries.about_no_rows(MemoryRows(rows), {"where": {"owner": "HELENE"}})
    assert "owner 0" in counts
    assert "Helene (1), Hélène (1)" in nearest


def test_titles_of_documents_are_found_in_the_same_way(doors: Doors):
    Document.objects.filter(id="house-manual.md").update(title="Führer für Gäste")
    assert [row["id"] for row in doors.mcp("list_documents", {"title": "fuhrer FUR"})["items"]] == ["house-manual.md"]
