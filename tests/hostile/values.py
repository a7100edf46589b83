"""JSON that a decent API would never send: names, values and shapes of rows, from a seed."""

import json
from collections.abc import Callable, ItemsView
from random import Random
from typing import Any

from tests.hostile.characters import text, with_lone_surrogates

NAMES = (
    "id", "name", "status", "note", "meta", "_meta", "nextCursor", "items", "data", "error", "kind", "table", "columns",
    "value", "price.base", "a.b", "", " ", "rows", "totalPrice", "currency", "createdAt", "guestName", "doorCode",
    "detailsAvailable", "content", "SELECT", "💡", "__proto__", "fields", "limit", "ID", "Id", "beside", "groups",
)  # fmt: skip
CURRENCIES = ("EUR", "USD", "JPY", "", None)


class RepeatedNames(dict[str, Any]):
    """Is written with each of its names twice."""

    def items(self) -> ItemsView[str, Any]:
        return [*super().items(), *super().items()]  # type: ignore[return-value]


def name(order: Random) -> str:
    if order.random() < 0.6:
        return order.choice(NAMES)
    return text(order, order.choice((1, 3, 8, 8, 20, 20, 60)))


def plain(order: Random, length: int) -> Any:
    """A text of this length, or a number, a time, a truth or nothing."""
    match order.randrange(14):
        case 0:
            return order.choice((None, True, False, 0, -0.0, 1e308, 5e-324, 2**53 + 1, -(2**63), 2**64))
        case 1:
            return order.choice((float("nan"), float("inf"), float("-inf"), 10 ** order.randint(20, 4000)))
        case 2:
            return order.random() * 10 ** order.randint(-20, 20)
        case 3:
            return order.randint(-(2**53), 2**53)
        case 4:
            return f"20{order.randint(10, 99)}-{order.randint(1, 13):02}-{order.randint(1, 32):02}T10:00:00Z"
        case 5:
            return order.choice(CURRENCIES)
        case 6:
            return with_lone_surrogates(order)
        case _:
            return text(order, length)


def value(order: Random, length: int, depth: int = 0) -> Any:
    """Of about this many characters."""
    kind = order.random()
    if depth > 5 or length < 8 or kind < 0.6:
        return plain(order, length)
    parts = order.randint(1, min(12, max(1, length // 8)))
    if kind < 0.8:
        return [value(order, length // parts, depth + 1) for _ in range(parts)]
    return {name(order): value(order, length // parts, depth + 1) for _ in range(parts)}


def deep(order: Random, levels: int) -> Any:
    """Within the limit of levels, or beyond it."""
    found: Any = plain(order, 20)
    for _ in range(levels):
        found = {name(order): found} if order.random() < 0.5 else [found]
    return found


# -- Rows -------------------------------------------------------------------------------------------

Rows = list[Any]


def alike(order: Random, size: int) -> Rows:
    """All rows have the same names."""
    names = [name(order) for _ in range(order.randint(1, 30))]
    long = order.choice((2, 5, 12, 30, 200))
    count = _count(size, len(names) * (long + 10))
    return [{"id": n, **{each: plain(order, order.randint(0, long)) for each in names}} for n in range(count)]


def ragged(order: Random, size: int) -> Rows:
    names = [name(order) for _ in range(40)]
    long = order.choice((5, 30, 300, 3000))
    count = _count(size, 5 * (long + 10))
    return [{each: value(order, long) for each in order.sample(names, order.randint(0, 9))} for _ in range(count)]


def tiny(order: Random, size: int) -> Rows:
    row = order.choice(({}, {"id": 1}, {"a": None}, {"": ""}, {"n": 0.1}))
    return [dict(row) for _ in range(_count(size, 8))]


def giant(order: Random, size: int) -> Rows:
    """One row has nearly all of the size."""
    rows: Rows = [{"id": n, "note": text(order, 20)} for n in range(order.randint(1, 30))]
    rows[order.randrange(len(rows))][name(order)] = order.choice((text, value))(order, size)
    return rows


def nested(order: Random, size: int) -> Rows:
    count = order.randint(1, 20)
    inner = max(1, size // count // 200)
    return [{"id": f"r{n}", name(order): [value(order, 180) for _ in range(inner)]} for n in range(count)]


def wide(order: Random, size: int) -> Rows:
    count, long = order.randint(1, 4), order.choice((0, 2, 20))
    fields = max(1, min(20_000, size // count // (long + 12)))
    return [{f"{order.choice(NAMES)}{at}": plain(order, long) for at in range(fields)} for _ in range(count)]


def mixed(order: Random, size: int) -> Rows:
    return [value(order, 60) for _ in range(_count(size, 60))]


def huge_names(order: Random, size: int) -> Rows:
    long = order.choice((200, 2000, 20_000))
    names = [text(order, long) for _ in range(order.randint(1, 5))]
    return [dict.fromkeys(names, n) for n in range(min(200, _count(size, long * len(names))))]


def nested_deeply(order: Random, size: int) -> Rows:
    return [{"id": n, "deep": deep(order, order.choice((3, 20, 90, 200, 245)))} for n in range(order.randint(1, 6))]


def repeated_names(order: Random, size: int) -> Rows:
    return [RepeatedNames(row) for row in alike(order, size // 2)]


def amounts(order: Random, size: int) -> Rows:
    """Their names, and their currencies, may be any text."""
    amount = order.choice(("totalPrice", f"{text(order, 200)}_price"))
    currencies = order.choice((CURRENCIES, [text(order, 3000) for _ in range(3)], ["€" * 20_000, "$" * 20_000]))
    return [
        {"id": n, amount: order.choice((n, n / 3, str(n), None)), "currency": order.choice(currencies)}
        for n in range(max(3, _count(size, 50 + max(len(each or "") for each in currencies))))
    ]


SHAPES: tuple[Callable[[Random, int], Rows], ...] = (
    alike, alike, alike, ragged, ragged, tiny, giant, nested, wide, mixed, huge_names, nested_deeply, repeated_names,
    amounts,
)  # fmt: skip


def rows(order: Random, size: int) -> Rows:
    return order.choice(SHAPES)(order, size)


def record(order: Random, size: int) -> dict[str, Any]:
    """One of all kinds of row, as large as all of them; or with rows below."""
    if order.random() < 0.4:
        return {"id": 7, name(order): rows(order, size // 2), name(order): value(order, size // 2)}
    found = order.choice((wide, giant, nested, ragged, huge_names, nested_deeply))(order, size)
    merged: dict[str, Any] = {}
    for each in found:
        merged.update(each)
    return merged


def _count(size: int, each: int) -> int:
    return max(1, min(20_000, size // max(each, 1)))


def written(order: Random, value: Any) -> bytes:
    """As one server or another writes JSON."""
    separators = order.choice(((",", ":"), (", ", ": "), (" ,\r\n", " : ")))
    indent = order.choice((None, None, None, 1))
    data = json.dumps(value, ensure_ascii=order.random() < 0.3, separators=separators, indent=indent)
    try:
        return data.encode()
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can hold
        return json.dumps(value, separators=separators, indent=indent).encode()
