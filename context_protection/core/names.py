"""Compares names without case and separators: total_price, TotalPrice and totalPrice are equal."""

import re
from collections.abc import Iterable

_SEPARATORS = re.compile(r"[\s_-]")


def fold_name(name: str) -> str:
    """The name in lower case, without spaces, `_` and `-`."""
    return _SEPARATORS.sub("", name).lower()


def meant(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that equals `name` except for case and separators; None if none or several do."""
    wanted = fold_name(name)
    same = {each for each in names if fold_name(each) == wanted}
    return same.pop() if len(same) == 1 else None
