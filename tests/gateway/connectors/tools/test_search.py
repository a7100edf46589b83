"""Finding the right one of 300 tools by what people say, not by what the API says."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.connectors.tools.search import Index
from gateway.connectors.tools.words import Things, asked_words, nouns, singular, verbs, words
from tests.gateway.connectors.tools.invented import operations
from tests.gateway.connectors.tools.questions import HELD_OUT, QUESTIONS

OPERATIONS = operations()
INDEX = Index(OPERATIONS)
NAMES = {operation.name for operation in OPERATIONS}
BY_NAME = {operation.name: operation for operation in OPERATIONS}


def rank(query: str, right: str) -> int:
    """The place of the first right tool, from 1."""
    found = INDEX.search(query)
    return min((found.index(name) + 1 for name in right.split() if name in found), default=len(NAMES))


def share_within(places: int, questions: dict[str, str]) -> float:
    return sum(rank(query, right) <= places for query, right in questions.items()) / len(questions)


def test_the_api_is_as_large_as_it_says_and_the_questions_are_about_it():
    assert len(NAMES) == len(OPERATIONS) == 300
    for right in (QUESTIONS | HELD_OUT).values():
        assert NAMES.issuperset(right.split()), right


def test_what_people_ask_for_is_among_the_first_five():
    """Measured: 97.5 % among the first five, 84 % in first place."""
    assert share_within(5, QUESTIONS) >= 0.95
    assert share_within(1, QUESTIONS) >= 0.8


def test_so_it_is_with_questions_that_the_ranking_was_not_tuned_by():
    """Measured: 90.6 % among the first five, 62.5 % in first place."""
    assert share_within(5, HELD_OUT) >= 0.9
    assert share_within(1, HELD_OUT) >= 0.6


@pytest.mark.parametrize("spelling", ["{}", "{spaced}", "{camel}", "  {upper}? "])
def test_a_name_in_any_spelling_finds_its_tool_first(spelling: str):
    for name in NAMES:
        camel = re.sub("_(.)", lambda match: match[1].upper(), name)
        query = spelling.format(name, spaced=name.replace("_", " "), camel=camel, upper=name.upper())
        assert INDEX.search(query)[0] == name


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_name_with_two_letters_exchanged_still_finds_its_tool(place: int):
    """Where the word is long enough to be recognised."""
    missed = []
    for operation in OPERATIONS:
        word = operation.name.rpartition("_")[2]
        if operation.kind is Kind.LIST and len(word) >= 7:
            typed = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
            if not any(word in name for name in INDEX.search(typed)[:5]):
                missed.append(typed)
    assert missed == []


def test_the_beginning_of_a_word_is_enough():
    assert "list_subscriptions" in INDEX.search("subscr")[:5]


def test_the_same_question_has_the_same_answer_from_any_index_and_thread():
    queries = [*QUESTIONS, *HELD_OUT]
    expected = [INDEX.search(query) for query in queries]
    assert [Index(operations()).search(query) for query in queries] == expected
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: [INDEX.search(query) for query in queries], range(8)):
            assert found == expected


@given(query=st.text(max_size=500))
def test_no_question_is_an_error_and_no_tool_is_found_twice(query: str):
    found = INDEX.search(query)
    assert len(set(found)) == len(found)
    assert NAMES.issuperset(found)


@pytest.mark.parametrize("query", ["", "   ", "?!", "§§", '"" OR *', "name:", "NEAR(a b)", "the of a"])
def test_what_means_nothing_finds_little_and_breaks_nothing(query: str):
    assert NAMES.issuperset(INDEX.search(query))


def test_an_empty_index_finds_nothing():
    assert Index([]).search("bookings") == []


# -- Words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("list_bookings", ["list", "bookings"]),
        ("getBookingById", ["get", "booking", "by", "id"]),
        ("exportPDFFile", ["export", "pdf", "file"]),
        ("Crème brûlée, 2 pcs.", ["creme", "brulee", "2", "pcs"]),
        ("予約 を", ["予約", "を"]),
    ],
)
def test_names_and_sentences_fall_apart_into_words(text: str, expected: list[str]):
    assert words(text) == expected


def test_a_question_is_reduced_to_what_may_name_a_tool():
    assert asked_words("How do I get rid of the booking 43000003?") == ["delete", "booking"]
    assert asked_words("what is it") == ["what", "is", "it"], "nothing else is there"


@pytest.mark.parametrize(
    ("plural", "one"),
    [
        ("bookings", "booking"),
        ("companies", "company"),
        ("taxes", "tax"),
        ("address", "address"),
        ("branches", "branch"),
    ],
)
def test_plurals_are_one_of_many(plural: str, one: str):
    assert singular(plural) == one


def tool(name: str, description: str, **more: object) -> Operation:
    kind = Kind.LIST if name.startswith("list") else Kind.ACTION
    known = {"title": "", "endpoint": f"/api/v1/tools/{name}", "parameters": {}, "tags": ()}
    return replace(OPERATIONS[0], name=name, description=description, kind=kind, **{**known, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("description", "more"),
    [
        ("Reservations (bookings) of guests.", {}),
        ("Bookings (reservations) of guests.", {}),
        ("Bookings, also called reservations.", {}),
        ("Returns a list of reservations for the account.", {}),
        ("Reservations: guest, dates.", {}),
        ("All of them.", {"tags": ("reservations",)}),
        ("All of them.", {"endpoint": "/v2/reservations"}),
    ],
)
def test_what_a_list_calls_its_things_finds_what_can_be_done_with_them(description: str, more: dict[str, object]):
    listing, cancelling = tool("list_bookings", description, **more), tool("cancel_booking", "Calls it off.")
    assert "reservation" in Things.of([listing, cancelling]).behind(cancelling).also
    assert Index([listing, cancelling]).search("cancel the reservation")[0] == "cancel_booking"


def test_a_word_that_other_tools_are_named_for_is_no_synonym():
    every = [tool("list_invoices", "Customer bills."), tool("list_customers", "Who buys.")]
    assert Things.of(every).behind(every[0]).also == {"bill"}


def test_a_purchase_order_is_no_order():
    every = [
        tool("list_orders", "Baskets of the shop."),
        tool("list_purchase_orders", "Requisitions to vendors."),
        tool("approve_purchase_order", "Lets it go."),
    ]
    assert Things.of(every).behind(every[2]).also == {"requisition"}


def test_a_tool_is_called_by_other_words_for_what_it_does():
    assert {"add", "new", "make"} <= set(verbs(BY_NAME["create_invoice"]))
    assert {"show", "find"} <= set(verbs(BY_NAME["list_invoices"]))
    assert nouns(BY_NAME["list_tax_rates"]) == ["tax", "rate"]
