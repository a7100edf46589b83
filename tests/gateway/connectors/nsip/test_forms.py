"""The answer's form, by the client's names: page_size and summarize."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from context_protection.models import TokenBudget
from tests.simulators.nsip_sheep import Sheep

RAM = Sheep(640, 7331)


def without_meta(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in {"meta", "nextCursor"}}


async def test_a_large_animal_comes_whole_to_who_wants_no_summary(desk):
    desk.nsip.details[RAM.lpn] = {"remark": "x" * 9000}
    assert (await desk("nsip_get_animal", search_string=RAM.lpn))["meta"]["kind"] == "preview"
    asked = await desk("nsip_get_animal", search_string=RAM.lpn, fields="all")
    whole = await desk("nsip_get_animal", search_string=RAM.lpn, summarize=False)
    assert without_meta(whole) == without_meta(asked)
    assert whole["raw_data"]["data"]["remark"] == "x" * 9000


async def test_what_is_too_large_for_one_answer_comes_in_parts_without_a_summary(desk):
    page = await desk("nsip_search_by_lpn", lpn_id=RAM.lpn, summarize=False)
    found = set(without_meta(page))
    while "nextCursor" in page:
        page = await desk("nsip_search_by_lpn", lpn_id=RAM.lpn, cursor=page["nextCursor"])
        found |= set(without_meta(page))
    assert found == {"details", "lineage", "progeny"}


async def test_a_page_has_as_many_rows_as_the_clients_page_size_says(desk):
    page = await desk("nsip_search_animals", breed_id=641, page_size=25, page=2, fields="lpnId")
    assert [row["lpnId"] for row in page["items"]] == [Sheep(641, number).lpn for number in range(50, 75)]
    following = await desk("nsip_search_animals", cursor=page["nextCursor"])
    assert [row["lpnId"] for row in following["items"]] == [Sheep(641, number).lpn for number in range(75, 100)]


@pytest.mark.parametrize(
    ("operation", "asked", "name", "total"),
    [("nsip_search_animals", {"breed_id": 641}, "lpnId", 250), ("nsip_get_progeny", {"lpn_id": RAM.lpn}, "lpn_id", 25)],
    ids=["search", "progeny"],
)
@pytest.mark.parametrize("budget", [None, 4, 40])
@pytest.mark.parametrize("limit", [None, 4, 40])
@pytest.mark.usefixtures("transactional_db")
async def test_pages_by_their_number_leave_no_row_out_whatever_their_size(
    desk, operation, asked, name, total, limit, budget
):
    """The size of a page is the limit, as it is page_size; the size that ops have set does not move its beginning."""
    if budget is not None:
        await sync_to_async(TokenBudget.objects.create)(operation=operation, default_page_size=budget)
    size = {} if limit is None else {"limit": limit}
    found: list[str] = []
    for number in range(total):
        page = await desk(operation, **asked, **size, page=number, fields=name)
        if not page["items"]:
            break
        found += [row[name] for row in page["items"]]
    assert len(found) == len(set(found)) == total


async def test_a_page_of_a_search_that_finds_nothing_says_so(desk):
    page = await desk("nsip_search_animals", breed_id=610, page=3)
    assert (page["items"], page["meta"]["totalCount"]) == ([], 0)


async def test_rows_come_whole_to_who_wants_no_summary(desk):
    page = await desk("nsip_search_animals", breed_id=641, summarize=False, page_size=5)
    assert page["items"] == [desk.nsip.row(Sheep(641, number)) for number in range(5)]


async def test_what_is_said_by_name_wins(desk):
    page = await desk("nsip_search_animals", breed_id=641, summarize=False, fields="lpnId", page_size=5, limit=2)
    assert page["items"] == [{"lpnId": Sheep(641, number).lpn} for number in range(2)]
