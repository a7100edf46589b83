"""Operations that sources give, which change with the configuration."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from pytest_django import DjangoAssertNumQueries

from context_protection.configuration.live import Live
from context_protection.configuration.policies import policy_for
from context_protection.configuration.revisions import revisions
from context_protection.core.payloads import Record
from context_protection.core.policy import Kind
from context_protection.layers import declarations
from context_protection.models import TokenBudget
from gateway.access.callers import caller_of_key
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import Catalogue, catalogue
from gateway.catalog.operation import Operation
from gateway.dispatch import configuration, dispatch, hints
from gateway.dispatch.call import Call
from gateway.dispatch.request import prepare

pytestmark = pytest.mark.django_db


async def fetch(arguments: object, caller: Caller) -> Record:
    return Record({"id": 1})


def operation(name: str) -> Operation:
    return Operation(name, name, "Does something.", Kind.RECORD, {}, fetch, "")


class Source:
    """`rows` is what its table has; while it is locked, it cannot be read."""

    def __init__(self) -> None:
        self.rows: list[str] = ["one"]
        self.is_locked = False
        self.live = Live(self.load)

    def load(self) -> list[Operation]:
        if self.is_locked:
            raise DatabaseError("database is locked")
        return [operation(name) for name in self.rows]

    def __call__(self) -> Sequence[Operation]:
        return self.live.fresh()


def test_a_source_that_has_failed_is_asked_again_and_keeps_what_it_had(monkeypatch: pytest.MonkeyPatch):
    source, mine = Source(), Catalogue()
    mine.follow(source)
    mine.follow(lambda: [operation("another")])
    mine.refresh()
    source.is_locked, source.rows = True, ["two"]
    revisions.bump()
    mine.refresh()
    assert [each.name for each in mine] == ["one", "another"]
    source.is_locked = False
    mine.refresh()
    assert [each.name for each in mine] == ["one", "another"], "it is given a moment"
    monkeypatch.setattr(mine, "_again_at", 0.0)
    assert not mine.is_current
    mine.refresh()
    assert [each.name for each in mine] == ["two", "another"]
    assert mine.is_current


@pytest.fixture
def offered() -> Iterator[None]:
    catalogue.offer([operation("fetched")])
    yield
    catalogue.withdraw("fetched")


@pytest.mark.usefixtures("offered")
def test_a_call_that_has_begun_on_the_loop_loads_nothing_whatever_changes_meanwhile(
    api_key: str, django_assert_num_queries: DjangoAssertNumQueries
):
    caller = caller_of_key(api_key)
    taken = configuration.current()
    assert configuration.in_memory() is taken
    revisions.bump()
    with django_assert_num_queries(0):
        assert configuration.in_memory() is None
        prepare(Call("fetched", {}, caller, "http", hints.mcp), taken)
    assert configuration.current() is not taken


@pytest.mark.usefixtures("offered")
def test_operations_that_are_offered_or_withdrawn_are_another_configuration():
    before = configuration.current()
    catalogue.offer([operation("another")])
    try:
        assert configuration.in_memory() is None
        assert "another" in configuration.current().operations
        assert "another" not in before.operations
    finally:
        catalogue.withdraw("another")
    assert "another" not in configuration.current().operations


@pytest.mark.usefixtures("offered")
def test_what_is_hidden_is_not_looked_for_on_the_loop(api_key: str):
    caller, current = caller_of_key(api_key), configuration.current()
    hiding = replace(caller, tools=replace(caller.tools, hidden=frozenset({"fetched"})))
    assert not dispatch._starts_on_the_loop(Call("fetched", {}, hiding, "http", hints.mcp), current)
    assert dispatch._starts_on_the_loop(Call("fetched", {}, caller, "http", hints.mcp), current)


def test_two_connectors_cannot_offer_an_operation_of_one_name():
    mine = Catalogue()
    mine.offer([operation("list_boats")], "harbour")
    with pytest.raises(ImproperlyConfigured, match="harbour and ferries both offer an operation list_boats"):
        mine.offer([operation("list_boats")], "ferries")
    mine.offer([operation("list_boats")], "harbour")
    assert mine.connector_of("list_boats") == "harbour"


# -- Operations of one name -------------------------------------------------------------------------


@pytest.fixture
def mine() -> Iterator[Catalogue]:
    """A catalogue with budgets of three connectors."""
    for size, connector in enumerate(("harbour", "ferries", "islands"), start=5):
        TokenBudget.objects.create(connector=connector, default_page_size=size)
    yield Catalogue()
    declarations.withdraw("list_boats")


def in_use(mine: Catalogue, name: str) -> tuple[str, str, int]:
    """The title of the operation, its connector, and its page size, which is that of the connector's budget."""
    revisions.bump()
    mine.refresh()
    return mine.get(name).title, mine.connector_of(name), policy_for(name).default_page_size


def test_a_fixed_operation_has_the_budget_of_its_connector_though_a_source_has_one_of_its_name(mine: Catalogue):
    imported = [replace(operation("list_boats"), title="Imported boats")]
    mine.follow(lambda: imported, "ferries")
    mine.offer([operation("list_boats")], "harbour")
    assert in_use(mine, "list_boats") == ("list_boats", "harbour", 5)
    off = ["list_boats"]
    mine.obey(lambda: off)
    assert in_use(mine, "list_boats") == ("Imported boats", "ferries", 6)
    with pytest.raises(ImproperlyConfigured, match="harbour and islands both offer"):
        mine.offer([operation("list_boats")], "islands")
    off.clear()
    assert in_use(mine, "list_boats") == ("list_boats", "harbour", 5)
    mine.withdraw("list_boats")
    assert in_use(mine, "list_boats") == ("Imported boats", "ferries", 6)


def test_of_two_sources_the_first_one_gives_the_operation_and_its_budget(mine: Catalogue):
    first, second = [operation("list_boats")], [replace(operation("list_boats"), title="Other boats")]
    mine.follow(lambda: first, "ferries")
    mine.follow(lambda: second, "islands")
    assert in_use(mine, "list_boats") == ("list_boats", "ferries", 6)
    first.clear()
    assert in_use(mine, "list_boats") == ("Other boats", "islands", 7)
