"""What a wish asks for, compared with what tools do: the right one of an invented marina's 55 operations."""

from dataclasses import replace

import pytest

from context_protection.core.policy import Kind
from gateway.catalog.operation import Operation
from gateway.connectors.tools.search import Index
from tests.gateway.connectors.tools.marina import WISHES, operations

OPERATIONS = operations()
ROUTES = {operation.name: operation.route for operation in OPERATIONS}
INDEX = Index(OPERATIONS)


def found(query: str) -> list[str]:
    return [ROUTES[name] for name in INDEX.search(query)]


def test_every_wish_is_about_an_operation_of_the_marina():
    assert set(ROUTES.values()).issuperset(WISHES.values())


@pytest.mark.parametrize(("wish", "route"), WISHES.items())
def test_the_right_operation_of_the_marina_comes_first(wish: str, route: str):
    assert found(wish)[0] == route


@pytest.mark.parametrize("wish", WISHES)
def test_a_polite_wish_finds_the_same(wish: str):
    assert found(f"please {wish}")[0] == WISHES[wish]


def operation(name: str, route: str) -> Operation:
    """Its name says nothing, so that only its path decides."""
    title = "Boat, crew"
    return replace(OPERATIONS[0], name=name, title=title, description=title, route=route, kind=Kind.LIST, parameters={})


@pytest.mark.parametrize(
    ("wish", "right", "other"),
    [
        ("crew of a boat", "GET /boats/{id}/crew", "GET /crew/{id}/boats"),  # its path ends with what is wanted
        ("boats", "GET /boats", "GET /{harbour}/boats"),  # the shorter path, which needs no argument
        ("show a boat", "GET /boats/{id}", "GET /boats"),  # one row
        ("all boats", "GET /boats", "GET /boats/{id}"),  # all rows
        ("boats", "GET /boats", "GET /harbours/{id}/boats"),
    ],
)
def test_of_two_operations_with_the_same_words_the_path_decides(wish: str, right: str, other: str):
    one, two = operation("left", right), operation("right", other)
    for both in ([one, two], [two, one]):
        assert Index(both).search(wish)[0] == one.name
