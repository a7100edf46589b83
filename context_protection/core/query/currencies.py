"""Recognises undeclared fields that are amounts of money, and the fields with their currencies."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

MAX_NAMED = 12  # currencies, or amounts, that a note names
MAX_CHARS = 40  # of each
_CURRENCIES = frozenset({"currency", "currencycode", "currencyiso", "isocurrency", "currencyisocode"})
_AMOUNT = re.compile(
    r"(?:^|_)(?:amount|price|total|subtotal|cost|fee|charge|payment|paid|payout|balance|revenue|tax|deposit|refund|"
    r"discount|commission|salary|wage|budget|fare|rent|income)s?(?:_|$)"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NO_AMOUNT = re.compile(
    r"(?:^|_)(?:id|ids|count|number|type|status|code|name|date|at|on|percent|percentage|rate|ratio)$"
)


def is_amount(name: str) -> bool:
    """Whether a number of that name is an amount of money, if there is a currency beside it."""
    words = _HUMP.sub("_", name).lower().replace("-", "_")
    return _AMOUNT.search(words) is not None and _NO_AMOUNT.search(words) is None


def is_currency(name: str) -> bool:
    return name.lower().replace("_", "").replace("-", "") in _CURRENCIES


def beside(name: str, sample: Callable[[], Sequence[Mapping[str, Any]]]) -> str:
    """The path of the currency beside the undeclared amount `name`, which may be a path itself; empty if there is none.
    `sample` returns some of the rows; it is called only for the name of an amount."""
    *above, leaf = name.split(".")
    if not is_amount(leaf):
        return ""
    for row in sample():
        holder: Any = row
        for step in above:
            holder = holder.get(step) if isinstance(holder, dict) else None
        if isinstance(holder, dict) and (found := next(filter(is_currency, holder), None)):
            return ".".join([*above, found])
    return ""


def note(amounts: Iterable[str], unit: str, found: Collection[Any]) -> list[str]:
    """A note on compared amounts, if the rows have several units (`found`); else empty."""
    if len(found) < 2:
        return []
    return [f"{named(list(dict.fromkeys(amounts)))}: compared across {unit} ({listed(found)}); choose one with where."]


def listed(currencies: Iterable[Any]) -> str:
    """The currencies in order, as a note names them."""
    return named(sorted(map(str, currencies)))


def named(names: Sequence[str]) -> str:
    """The first of them. Long ones are cut, as the data may call a currency anything."""
    cut = [name if len(name) <= MAX_CHARS else f"{name[:MAX_CHARS]}…" for name in names[:MAX_NAMED]]
    return ", ".join(cut) + (" …" if len(names) > MAX_NAMED else "")
