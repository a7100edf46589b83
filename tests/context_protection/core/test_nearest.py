"""What was most likely meant."""

import tracemalloc

from context_protection.core.errors import nearest


def test_a_name_is_found_by_a_similar_one():
    assert nearest("Get_Bookin", ["get_booking", "get_listing"]) == "get_booking"


def test_a_name_of_megabytes_costs_no_more_than_a_long_one():
    name = "get_booking" * 100_000
    tracemalloc.start()
    nearest(name, ["get_booking"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
