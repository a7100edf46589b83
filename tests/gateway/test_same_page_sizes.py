"""A page that has to be made smaller has the same rows at every transport (law 4)."""

import pytest

from tests.doors import Doors

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("limit", [60, 61, 85, 88, 91, 94, 97, 200])
def test_the_form_of_a_hint_does_not_change_how_many_rows_a_page_has(doors: Doors, limit: int):
    """Hints differ by a few characters, which once made the same page one row longer or shorter."""
    search = {"limit": limit}
    sizes = {ask("nsip_search_animals", search)["meta"]["pageSize"] for ask in (doors.rest, doors.mcp, doors.post)}
    assert len(sizes) == 1
