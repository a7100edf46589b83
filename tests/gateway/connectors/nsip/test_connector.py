"""The connector as the gateway starts it: a real upstream, whose answers all callers share (N-FR-009)."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from context_protection.configuration.policies import used_by_call
from context_protection.core.scopes import BudgetScope
from context_protection.layers.budgets import Budgets
from gateway.catalog.operation import Operation
from gateway.connectors.nsip.connector import CONNECTOR
from gateway.connectors.nsip.operations import OPERATIONS
from gateway.upstreams.errors import UpstreamGarbled
from gateway.upstreams.registry import upstreams
from tests.simulators.nsip import NsipSimulator
from tests.simulators.nsip_sheep import Sheep

RAM = Sheep(640, 7331).lpn


@pytest.fixture
def offered(nsip: NsipSimulator, settings) -> Iterator[dict[str, Operation]]:
    settings.NSIP_BASE_URL = nsip.url
    before = upstreams.get("nsip")
    yield {operation.name: operation for operation in CONNECTOR.operations()}
    upstreams.remove("nsip")
    if before is not None:
        upstreams.register(before)


async def fetched(operation: Operation, **arguments: str) -> Any:
    return await operation.fetch({**operation.defaults, **arguments}, None)


def test_it_offers_the_nine_operations_and_an_upstream_whose_health_can_be_read(offered):
    assert CONNECTOR.name == "nsip"
    assert set(offered) == {*OPERATIONS.values(), "nsip_search_by_lpn"}
    upstream = upstreams.get("nsip")
    assert upstream is not None
    assert upstream.limits.most_answers == 1000


def test_its_answers_are_kept_for_an_hour_unless_ops_set_another_time(offered):
    assert Budgets({}).policy("nsip_get_animal").cache_seconds == 3600
    assert (
        Budgets({BudgetScope("nsip_get_animal"): {"cache_seconds": 60}}).policy("nsip_get_animal").cache_seconds == 60
    )


async def test_what_one_tool_has_asked_another_does_not_ask_again(nsip, offered):
    await fetched(offered["nsip_get_animal"], search_string=RAM)
    await fetched(offered["nsip_get_animal"], search_string=RAM)
    await fetched(offered["nsip_search_by_lpn"], lpn_id=RAM)
    assert nsip.counts == {"details/getAnimalDetails": 1, "details/getLineage": 1, "details/getPageOfProgeny": 1}


async def test_what_ops_do_not_want_cached_is_asked_each_time(nsip, offered):
    animal = BudgetScope("nsip_get_animal", caller="desk")
    with used_by_call(Budgets({animal: {"caching": False}}), "desk"):
        for _ in range(2):
            await fetched(offered["nsip_get_animal"], search_string=RAM)
    assert nsip.counts["details/getAnimalDetails"] == 2


async def test_an_answer_says_until_when_it_stands(offered):
    for name, arguments in (("nsip_get_animal", {"search_string": RAM}), ("nsip_search_by_lpn", {"lpn_id": RAM})):
        assert (await fetched(offered[name], **arguments)).fresh_until > time.monotonic()


async def test_an_error_page_is_not_kept(nsip, offered):
    nsip.mode = "login"
    with pytest.raises(UpstreamGarbled):
        await fetched(offered["nsip_get_lineage"], lpn_id=RAM)
    nsip.mode = "new"
    assert (await fetched(offered["nsip_get_lineage"], lpn_id=RAM)).payload.value["subject"]["lpn_id"] == RAM
