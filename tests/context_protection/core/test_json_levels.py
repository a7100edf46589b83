"""How deeply a JSON value is nested."""

from typing import Any

import pytest

from context_protection.core.json_values import ORJSON_LEVELS, is_within


def nested(levels: int, kind: str) -> Any:
    value: Any = 1
    for level in range(levels):
        is_list = kind == "lists" or (kind == "both" and level % 2)
        value = [value] if is_list else {"a": value, "b": []}
    return value


@pytest.mark.parametrize("kind", ["lists", "objects", "both"])
@pytest.mark.parametrize("most", [0, 1, 20, 250, ORJSON_LEVELS, ORJSON_LEVELS + 10])
def test_levels_are_counted_exactly(kind: str, most: int):
    for levels in {0, 1, 2, most - 1, most, most + 1, ORJSON_LEVELS, ORJSON_LEVELS + 1, 1000} - {-1}:
        value = nested(levels, kind)
        assert is_within(value, most) == (_depth(value) <= most), levels


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level := [each for each in level if isinstance(each, (dict, list))]:
        depth += 1
        level = [below for each in level for below in (each.values() if isinstance(each, dict) else each)]
    return depth


def test_what_orjson_does_not_write_is_counted_too():
    assert is_within({"a": [10**30, object()]}, 2)
    assert not is_within({"a": [10**30, object()]}, 1)
