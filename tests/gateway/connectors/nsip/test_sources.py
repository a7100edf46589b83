"""Lists in upstream's pages: no gap, no row twice, totals kept, pages known that upstream does not name (N-FR-006)."""

import pytest

from context_protection.core.errors import CallError
from gateway.connectors.nsip import sources
from gateway.connectors.nsip.client import Nsip, NsipAnswer
from gateway.connectors.nsip.sources import AnimalPage, NsipPages
from tests.gateway.connectors.nsip.fetching import PlainFetching
from tests.simulators.nsip import NsipSimulator
from tests.simulators.nsip_sheep import BREEDS, Sheep, found

RAM = Sheep(640, 7331).lpn


def api_of(nsip: NsipSimulator) -> Nsip:
    return Nsip(PlainFetching(), nsip.url, lambda method: 0.0)


async def walked(pages: NsipPages, most: int = 99) -> list[dict]:
    rows, token = [], None
    for _ in range(most):
        page = await pages.page(token, 15)
        rows += page.rows
        token = page.next
        if token is None:
            break
    return rows


@pytest.mark.parametrize("mode", ["new", "legacy"])
async def test_a_walk_over_three_pages_has_no_gap_and_ends(nsip, mode):
    nsip.mode = mode
    question = {"breed_id": 641, "sorted_trait": "NLW", "reverse": True}
    rows = await walked(NsipPages(sources.search(api_of(nsip), question)))
    expected = [Sheep(*each).lpn for each in found("641", "{}", "NLW", "true")]
    assert [row.get("lpnId", row.get("LpnId")) for row in rows] == expected
    assert len(nsip.received) == 3


async def test_a_page_says_when_it_was_read_and_until_when_it_stands():
    async def read(number: int) -> NsipAnswer[AnimalPage]:
        return NsipAnswer(
            AnimalPage([{"lpnId": "1"}], 1), as_of=1_763_000_000.0, fresh_until=77.0, note={"stale": True}
        )

    page = await NsipPages(read).page(None, 15)
    assert (page.as_of, page.fresh_until, page.note) == (1_763_000_000.0, 77.0, {"stale": True})


async def test_the_total_is_upstreams_however_many_rows_there_are(nsip):
    page = await NsipPages(sources.search(api_of(nsip), {"breed_id": 640})).page(None, 15)
    assert page.total == BREEDS[640][1] == 145_595
    assert len(page.rows) == 100
    assert page.certain
    assert page.note == {}


async def test_who_counts_pages_begins_at_the_right_row_and_is_told_which_page_it_is(nsip):
    pages = NsipPages(sources.search(api_of(nsip), {"breed_id": 641}), first_page=7)
    page = await pages.page(None, 15)
    assert page.rows[0]["lpnId"] == Sheep(641, 105).lpn
    assert page.note == {"page": 7}
    assert page.before == 7 * 15
    assert [row["lpnId"] for row in await walked(pages)] == [Sheep(641, number).lpn for number in range(105, 250)]


async def test_offspring_are_paged_and_told_with_the_page_that_was_asked_for(nsip):
    pages = NsipPages(sources.progeny(api_of(nsip), RAM), first_page=2)
    page = await pages.page(None, 10)
    assert (len(page.rows), page.total, page.next) == (5, 25, None)
    assert page.note == {"page": 2}
    assert page.before == 20
    assert set(page.rows[0]) == {"lpn_id", "sex", "date_of_birth", "traits"}


async def test_a_page_behind_the_last_is_empty_and_ends(nsip):
    pages = NsipPages(sources.search(api_of(nsip), {"breed_id": 641}), first_page=600)
    page = await pages.page(None, 15)
    assert (list(page.rows), page.total, page.next, page.before) == ([], 250, None, 250)


async def test_an_upstream_that_names_no_total_is_read_until_a_page_is_not_full():
    async def read(number: int) -> NsipAnswer[AnimalPage]:
        return NsipAnswer(AnimalPage([{"lpnId": f"{number}-{each}"} for each in range((100, 100, 3)[number])], 0))

    first = await NsipPages(read).page(None, 15)
    assert (first.total, first.certain, first.next) == (None, False, 1)
    assert len(await walked(NsipPages(read))) == 203


@pytest.mark.parametrize(
    ("sizes", "total"),
    [((100, 100), 200), ((100, 50), 150), ((100,), 100), ((1,), 1), ((0,), 0), ((100, 0), 1_000_000)],
    ids=["full pages", "a last one that is not", "one full page", "one row", "none", "fewer than upstream says"],
)
async def test_no_page_is_asked_for_that_has_no_rows_to_give(sizes, total):
    asked: list[int] = []

    async def read(number: int) -> NsipAnswer[AnimalPage]:
        asked.append(number)
        return NsipAnswer(AnimalPage([{"lpnId": f"{number}-{each}"} for each in range(sizes[number])], total))

    assert len(await walked(NsipPages(read))) == sum(sizes)
    assert asked == list(range(len(sizes)))


async def test_an_unknown_parent_has_no_page(nsip):
    with pytest.raises(CallError):
        await NsipPages(sources.progeny(api_of(nsip), "640149NOBODY")).page(None, 15)
