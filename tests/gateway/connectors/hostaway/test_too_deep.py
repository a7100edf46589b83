"""Records that are nested deeper than Sluice reads are left out and named; what comes with them is stored."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.connectors.hostaway import sync
from gateway.connectors.hostaway.client import DEEPEST_ROW, HostawayClient
from gateway.connectors.hostaway.models import Booking, Transaction
from gateway.connectors.hostaway.sync import SyncResult
from tests.gateway.connectors.hostaway.plain import PlainFetching
from tests.gateway.connectors.hostaway.test_sync import a_day_passes, state
from tests.simulators.hostaway import ACCOUNT_ID, Hostaway, hostaway

pytestmark = pytest.mark.django_db
WHY = "too_deep"


@pytest.fixture
def upstream() -> Iterator[Hostaway]:
    with hostaway() as running:
        running.fill(listings=3, reservations=250, charges=5)
        yield running


@pytest.fixture
def client(upstream: Hostaway) -> HostawayClient:
    return HostawayClient(upstream.url, PlainFetching(upstream.url))


Sync = Callable[..., SyncResult]


@pytest.fixture
def run(client: HostawayClient) -> Sync:
    return lambda **options: sync.run(ACCOUNT_ID, client, **options)


def nested(levels: int) -> Any:
    value: Any = "the innermost"
    for level in range(levels):
        value = [value] if level % 2 else {"below]}": value, 'quote"\\': ["[{"]}
    return value


def deepen(upstream: Hostaway, *places: int) -> list[int]:
    """Reservations at these places of upstream's order, one level deeper than is read; their ids."""
    order = sorted(upstream.reservations.values(), key=lambda row: (row["updatedOn"], row["id"]), reverse=True)
    ids = [order[place]["id"] for place in places]
    for each in ids:
        upstream.reservations[each] = {"before": 1, **upstream.reservations[each], "deep": nested(DEEPEST_ROW)}
        upstream.reservations[each]["after"] = 2
    return ids


def ids(upstream: Hostaway) -> set[int]:
    return set(upstream.reservations)


def stored() -> set[int]:
    return set(Booking.objects.values_list("id", flat=True))


@pytest.mark.parametrize("places", [[0], [99], [100], [249], [98, 99, 100, 101], list(range(100, 200))])
def test_what_is_too_deep_is_left_out_and_named_and_all_others_are_stored(
    upstream: Hostaway, run: Sync, caplog: pytest.LogCaptureFixture, places: list[int]
):
    deep = deepen(upstream, *places)
    with caplog.at_level(logging.WARNING):
        assert run() is SyncResult.INCOMPLETE
    assert stored() == ids(upstream) - set(deep)
    assert Transaction.objects.count() == 5, "the resources after it are read as well"
    assert state().left_out == {str(each): WHY for each in deep}
    assert (state().error, state().refused_rows, state().mode) == ("", 0, "")
    told = [record for record in caplog.records if record.message == "hostaway record left out"]
    assert [(each.resource, each.id, each.reason) for each in told] == [("reservations", each, WHY) for each in deep]  # type: ignore[attr-defined]


def test_pages_are_asked_for_once_and_not_again_for_what_is_left_out(upstream: Hostaway, run: Sync):
    deepen(upstream, 150)
    run()
    assert len([call for call in upstream.calls("/reservations") if "latestActivityStart" not in call.query]) == 3
    upstream.requests.clear()
    assert run() is SyncResult.INCOMPLETE, "the copy still lacks it"
    assert all("latestActivityStart" in call.query for call in upstream.calls("/reservations"))
    assert not [seen for seen in upstream.requests if seen.path.startswith("/reservations/")]
    assert state().retry_at is None


def test_a_record_that_becomes_readable_is_stored_and_named_no_more(upstream: Hostaway, run: Sync):
    (deep,) = deepen(upstream, 150)
    run()
    upstream.change(deep, "2099-01-01 00:00:00", deep=None)
    assert run() is SyncResult.DONE
    assert stored() == ids(upstream)
    assert state().left_out == {}


def test_a_record_that_is_gone_is_named_until_everything_is_read_anew(upstream: Hostaway, run: Sync):
    (deep,) = deepen(upstream, 150)
    run()
    del upstream.reservations[deep]
    assert run() is SyncResult.INCOMPLETE
    assert run(full=True) is SyncResult.DONE


def test_what_is_gone_is_removed_while_another_record_is_left_out(upstream: Hostaway, run: Sync):
    run()
    deepen(upstream, 150)
    gone, _ = upstream.reservations.popitem()
    a_day_passes()
    run()
    assert gone not in stored()


def test_an_older_copy_of_it_stays_and_is_not_looked_for(upstream: Hostaway, run: Sync):
    run()
    (deep,) = deepen(upstream, 150)
    a_day_passes()
    assert run() is SyncResult.INCOMPLETE
    assert deep in stored()
    assert not upstream.calls(f"/reservations/{deep}")
    assert state().gone_before is None


def test_what_is_looked_for_since_a_reading_has_missed_it_may_be_too_deep(upstream: Hostaway, run: Sync):
    run()
    (deep,) = deepen(upstream, 150)
    upstream.reservations[deep]["deep"] = nested(DEEPEST_ROW + 1)  # alone it has a level less around it
    complete = upstream._list
    upstream._list = lambda rows, query: complete([row for row in rows if row["id"] != deep], query)  # type: ignore[method-assign]
    a_day_passes()
    assert run() is SyncResult.INCOMPLETE
    assert (state().left_out, state().gone_before, state().error) == ({str(deep): WHY}, None, "")
    run()
    assert len(upstream.calls(f"/reservations/{deep}")) == 1
    assert deep in stored()


def test_charges_are_left_out_alike(upstream: Hostaway, run: Sync):
    deep = min(upstream.charges)
    upstream.charges[deep]["deep"] = nested(DEEPEST_ROW)
    assert run() is SyncResult.INCOMPLETE
    assert set(Transaction.objects.values_list("id", flat=True)) == upstream.charges.keys() - {deep}
    assert state("charges").left_out == {str(deep): WHY}


def test_what_no_parser_reads_is_left_out_as_well(upstream: Hostaway, run: Sync):
    marked = min(upstream.reservations)
    upstream.reservations[marked]["deep"] = "here"
    complete = upstream._list

    def deeper(rows: Any, query: Any) -> Any:
        status, document = complete(rows, query)
        return status, json.dumps(document).encode().replace(b'"here"', b"[" * 100_000 + b"]" * 100_000)

    upstream._list = deeper  # type: ignore[method-assign]
    assert run() is SyncResult.INCOMPLETE
    assert stored() == ids(upstream) - {marked}
    assert state().left_out == {str(marked): WHY}


def test_one_that_has_no_id_is_counted_as_what_is_no_object(upstream: Hostaway, run: Sync):
    complete = upstream._list

    def with_one_more(rows: Any, query: Any) -> Any:
        status, document = complete(rows, query)
        return status, {**document, "result": [{"deep": nested(DEEPEST_ROW)}, *document["result"]]}

    upstream._list = with_one_more  # type: ignore[method-assign]
    run()
    assert stored() == ids(upstream)
    assert state().refused_rows > 0
    assert state().left_out == {}
