"""Laws 1, 2 and 7 for lists that an upstream pages: every row comes once and whole, also rows above the cap."""

from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.doors import Doors
from tests.gateway.test_paged_lists import LONG, Counted, offered, whole_rows

__all__ = ["offered"]

pytestmark = pytest.mark.django_db

MOST_ROWS = 50
SHORT = "A row of some words. " * 40
calls = count()  # an equal call would be answered from the cache

walks = st.fixed_dictionaries(
    {
        "rows": st.integers(0, MOST_ROWS),
        "oversized": st.sets(st.integers(0, MOST_ROWS - 1), max_size=4),
        "longer": st.sets(st.integers(0, MOST_ROWS - 1), max_size=20),
        "limit": st.none() | st.integers(1, 60),
        "tells_total": st.booleans(),
        "certain": st.booleans(),
        "form": st.sampled_from([None, "items", "table"]),
    }
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(walks)
def test_every_row_comes_once_and_whole_wherever_rows_above_the_cap_stand(
    doors: Doors, offered: Any, walk: dict[str, Any]
):
    upstream = Counted(walk["rows"], tells_total=walk["tells_total"], certain=walk["certain"])
    for place, row in enumerate(upstream.rows):
        row["text"] = LONG if place in walk["oversized"] else SHORT if place in walk["longer"] else "short"
    offered(upstream)
    arguments = {name: walk[given] for name, given in (("limit", "limit"), ("format", "form")) if walk[given]}
    assert whole_rows(doors, kind=str(next(calls)), **arguments) == upstream.rows
