"""Compares names without case and separators: total_price, TotalPrice and totalPrice are equal."""

import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s_-]")


def folded(name: str) -> str:
    return _SEPARATORS.sub("", name).lower()


def meant(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that equals `name` except for case and separators; None if none or several do."""
    wanted = folded(name)
    same = {each for each in names if folded(each) == wanted}
    return same.pop() if len(same) == 1 else None
