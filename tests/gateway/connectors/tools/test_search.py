"""Finding the right one of 300 tools by what people say, not by what the API says."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.connectors.tools.api_nouns import Nouns
from gateway.connectors.tools.parsed_query import query_words
from gateway.connectors.tools.search import Index
from gateway.connectors.tools.words import nouns, route_words, verbs, words
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
    """Measured: 97 % among the first five, 81 % in first place."""
    assert share_within(5, HELD_OUT) >= 0.9
    assert share_within(1, HELD_OUT) >= 0.7


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
    another = Index(operations())
    assert [another.search(query) for query in reversed(queries)] == expected[::-1]
    for query, found in list(zip(queries, expected, strict=True))[::12]:
        assert Index(operations()).search(query) == found, "whatever an index was asked before"
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


# -- An imported API --------------------------------------------------------------------------------


def imported(route: str, title: str, kind: Kind = Kind.LIST) -> Operation:
    """As an import makes it: the name comes from method and path, and the title is the document's summary."""
    name = f"acme_{'_'.join(words(re.sub('{[^}]*}', '', route)))}"
    more = {"kind": kind, "title": title, "description": title, "route": route, "tags": ("acme",), "parameters": {}}
    return replace(OPERATIONS[0], name=name, endpoint=f"/api/v1/tools/{name}", **more)  # type: ignore[arg-type]


REPOSITORIES = [
    imported("GET /repos/{repo}/pulls/{number}/files", "List the files of a pull request"),
    imported("GET /repos/{repo}/commits/{sha}/pulls", "List pull requests associated with a commit"),
    imported("GET /repos/{repo}/pulls", "List pull requests"),
    imported("POST /repos/{repo}/pulls", "Create a pull request", Kind.ACTION),
    imported("GET /repos/{repo}/issues/{number}/comments", "List comments of an issue"),
    imported("POST /repos/{repo}/issues/{number}/comments", "Create a comment", Kind.ACTION),
    imported("DELETE /repos/{repo}/issues/comments/{id}", "Delete a comment of an issue", Kind.ACTION),
    imported("GET /users", "List users"),
    imported("GET /users/{user}/teams", "List teams of a user"),
    imported("GET /user", "Get the authenticated user", Kind.RECORD),
    imported("PATCH /incidents/{id}", "Update an incident", Kind.ACTION),
    imported("GET /incidents/{id}/log_entries", "List log entries of an incident"),
    imported("GET /incidents", "List incidents"),
]


@pytest.mark.parametrize(
    ("query", "route"),
    [
        ("show my open pull requests", "GET /repos/{repo}/pulls"),
        ("pull request", "GET /repos/{repo}/pulls"),
        ("comment on an issue", "POST /repos/{repo}/issues/{number}/comments"),
        ("all incidents", "GET /incidents"),
        ("resolve an incident", "PATCH /incidents/{id}"),
        ("people", "GET /users"),
        ("who am I", "GET /user"),
        ("remove a comment", "DELETE /repos/{repo}/issues/comments/{id}"),
    ],
)
def test_the_shortest_path_with_the_words_of_a_wish_comes_first(query: str, route: str):
    right = next(each.name for each in REPOSITORIES if each.route == route)
    assert Index(REPOSITORIES).search(query)[0] == right


def test_a_tool_that_deletes_is_not_first_for_a_wish_that_does_not_say_so():
    deleting = imported("DELETE /notes/{id}", "Delete a note", Kind.ACTION)
    writing = imported("POST /people/{id}/remarks", "Create a note for somebody on file", Kind.ACTION)
    assert Index([deleting, writing]).search("write a note")[0] == writing.name
    assert Index([deleting, writing]).search("erase a note")[0] == deleting.name


@pytest.mark.parametrize(
    ("route", "expected"),
    [
        ("GET /v2/users/{id}/keys", ["users", "keys"]),
        ("GET /2010-04-01/Accounts/{Sid}/PhoneNumbers.json", ["accounts", "phone", "numbers"]),
        ("GET /apis/apps/v1beta1/deployments", ["apis", "apps", "deployments"]),
        ("", []),
    ],
)
def test_a_route_is_read_without_versions_and_placeholders(route: str, expected: list[str]):
    assert route_words(route) == expected


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
    assert query_words("How do I get rid of the booking 43000003?") == ["delete", "booking"]
    assert query_words("what is it") == ["what", "is", "it"], "nothing else is there"


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
    assert "reservation" in Nouns.of([listing, cancelling]).behind(cancelling).also
    assert Index([listing, cancelling]).search("cancel the reservation")[0] == "cancel_booking"


def test_a_word_that_other_tools_are_named_for_is_no_synonym():
    every = [tool("list_invoices", "Customer bills."), tool("list_customers", "Who buys.")]
    assert Nouns.of(every).behind(every[0]).also == {"bill"}


def test_a_purchase_order_is_no_order():
    every = [
        tool("list_orders", "Baskets of the shop."),
        tool("list_purchase_orders", "Requisitions to vendors."),
        tool("approve_purchase_order", "Lets it go."),
    ]
    assert Nouns.of(every).behind(every[2]).also == {"requisition"}


def test_a_tool_is_called_by_other_words_for_what_it_does():
    assert {"add", "new", "make"} <= set(verbs(BY_NAME["create_invoice"]))
    assert {"show", "find"} <= set(verbs(BY_NAME["list_invoices"]))
    assert nouns(BY_NAME["list_tax_rates"]) == ["tax", "rate"]


CHAT = [
    imported("GET /channels/{channel_id}/posts", "Get posts of a channel"),
    imported("DELETE /posts/{post_id}", "Delete a post", Kind.ACTION),
    imported("POST /logs", "Add log message", Kind.ACTION),
    imported("POST /channels/direct", "Create a direct message channel", Kind.ACTION),
    imported("GET /licenses/last", "Get the last license", Kind.RECORD),
    imported("GET /channels/{channel_id}/members", "Get members of a channel"),
    imported("POST /channels/{channel_id}/members", "Add a member to a channel", Kind.ACTION),
    imported("GET /members/{member_id}/channels", "Get channels of a member"),
    imported("POST /articles/{article_id}/comments", "Create a comment on an article", Kind.ACTION),
    imported("GET /articles/{article_id}/comments", "Get comments on an article"),
    imported("GET /articles", "List articles"),
    imported("GET /budgets", "List budgets"),
    imported("POST /subscriptions", "Create a subscription", Kind.ACTION),
    imported("PATCH /subscriptions/{subscription_id}", "Update a subscription", Kind.ACTION),
    imported("DELETE /subscriptions/{subscription_id}", "Terminate a subscription", Kind.ACTION),
    imported("PUT /emails/{email_id}", "Update an email", Kind.ACTION),
    imported("POST /customers", "Create a customer", Kind.ACTION),
    replace(imported("POST /customers/search", "Search customers", Kind.ACTION), name="acme_search_customers"),
]


@pytest.mark.parametrize(
    ("query", "route"),
    [
        ("delete my last message", "DELETE /posts/{post_id}"),  # other tools have "message" and "last" in their names
        ("members of a channel", "GET /channels/{channel_id}/members"),
        ("channels of a member", "GET /members/{member_id}/channels"),
        ("comments on an article", "GET /articles/{article_id}/comments"),  # a plural is no verb
        ("comment on an article", "POST /articles/{article_id}/comments"),
        ("articles that mention the budget", "GET /articles"),  # what rows are about names no tool
        ("cancel a customer's subscription", "DELETE /subscriptions/{subscription_id}"),
        ("find a customer by email", "POST /customers/search"),  # reads, whatever its method
    ],
)
def test_what_is_wanted_comes_before_what_only_shares_words_with_the_wish(query: str, route: str):
    right = next(each.name for each in CHAT if each.route == route)
    assert Index(CHAT).search(query)[0] == right


def test_the_name_of_an_imported_api_is_no_part_of_what_its_tools_are_called():
    assert nouns(imported("GET /plans", "List plans")) == ["plan"]
