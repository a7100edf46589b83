"""What a client may do next with an answer: what the answer points to, other forms of the same call, and the tools that
read stored results."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.foreign.pointers import pointers
from tests.hostile.characters import text

FORM = ("limit", "fields", "format", "where", "aggregate", "search", "order", "cursor", "startLine", "endLine")
# What a tool takes, by the verb in its name.
FORMS = {
    "list": ("limit", "fields", "format", "where", "aggregate", "search", "order"),
    "get": ("fields", "format"),
    "read": ("search", "startLine", "endLine", "format"),
    "query": ("format",),
    "search": ("format",),
}
USUALLY = 0.98
OPERATORS = ("eq", "ne", "gt", "gte", "lt", "lte", "contains", "isnull", "in")
METRICS = ("sum", "avg", "min", "max", "countDistinct", "median", "p90")
MOST_NAMES = 60
STATEMENTS = (
    "SELECT * FROM rows",
    "SELECT count(*) FROM rows",
    "SELECT * FROM rows LIMIT 3",
    "SELECT {name} FROM rows",
    "SELECT {name}, count(*) AS n FROM rows GROUP BY 1 ORDER BY 2 DESC",
    "SELECT string_agg({name}::VARCHAR, ', ') AS a FROM rows",
    "SELECT {name} AS {text_name}, * FROM rows LIMIT 50",
    "SELECT * FROM rows WHERE {name}::VARCHAR LIKE '%' || {text} || '%'",
    "SELECT list({name}) AS all_of_it, {text} AS t FROM rows",
    "SELECT no_such_column FROM rows",
    "SELECT {text}",
)
HEAVY_STATEMENTS = ("SELECT repeat({text}, 100000) AS {name} FROM rows", "SELECT * FROM rows, range(50)")


@dataclass(frozen=True)
class ToolCall:
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(dict(self.arguments))}"


def following(order: Random, call: ToolCall, answer: Mapping[str, Any]) -> Iterator[ToolCall]:
    meta = meta_of(answer)
    yield from (ToolCall(tool, arguments) for tool, arguments in pointers(answer, call.tool, call.arguments))
    if isinstance(following_part := meta.get("nextCursor"), str):
        yield ToolCall(call.tool, {**call.arguments, "cursor": following_part})
    names = names_in(answer)
    if isinstance(handle := meta.get("resultHandle"), str):
        yield from _of_handle(order, handle, names)
    if "error" not in answer or order.random() < 0.2:
        own = {name: value for name, value in call.arguments.items() if name not in FORM}
        for _ in range(2):
            yield ToolCall(call.tool, {**own, **_form(order, call.tool, names)})


def meta_of(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Sluice's own, which is the first member."""
    first = next(iter(answer), "")
    found = answer[first] if first.lstrip("_") == "meta" else None
    return found if isinstance(found, dict) else {}


def names_in(answer: Any) -> list[str]:
    """Names of fields, and dotted paths, from anywhere in the answer."""
    found: dict[str, None] = {}
    waiting = [("", answer)]
    while waiting and len(found) < MOST_NAMES:
        path, value = waiting.pop()
        if isinstance(value, dict):
            found.update(dict.fromkeys(f"{path}{name}" for name in list(value)[:MOST_NAMES]))
            waiting.extend(
                (f"{path}{name}." if path or value is not answer else "", each) for name, each in value.items()
            )
        elif isinstance(value, list):
            waiting.extend((path, each) for each in value[:3])
    return list(found) or ["id"]


def _form(order: Random, tool: str, names: list[str]) -> dict[str, Any]:
    """One argument of protection or several, which the tool nearly always has."""
    taken = next((FORMS[verb] for verb in FORMS if f"_{verb}" in tool), FORM)
    made: dict[str, Any] = {}
    for _ in range(order.choice((1, 1, 2, 3))):
        found = _argument(order, names)
        while not found.keys() <= set(taken) and order.random() < USUALLY:
            found = _argument(order, names)
        made.update(found)
    return made


def _argument(order: Random, names: list[str]) -> dict[str, Any]:
    name = order.choice(names)
    match order.randrange(13):
        case 0 | 1:
            return {"limit": order.choice((1, 2, 7, 50, 1000, 100_000))}
        case 2:
            return {"fields": order.choice(("all", "raw"))}
        case 3 | 4:
            return {"fields": ",".join(order.choices(names, k=order.randint(1, 12)))}
        case 5:
            return {"format": order.choice(("table", "table", "items", "handle"))}
        case 6:
            return {"where": {name: {order.choice(OPERATORS): _value(order)}}}
        case 7:
            metric = {
                "op": order.choice(METRICS),
                "field": order.choice(names),
                "as": text(order, order.choice((3, 60))),
            }
            return {"aggregate": {"groupBy": [name], "metrics": [metric, {"op": "count"}], "limit": 1000}}
        case 8:
            return {"aggregate": {"metrics": [{"op": "countDistinct", "field": each} for each in names[:30]]}}
        case 9 | 10:
            return {"search": order.choice((name, text(order, 3), "a", "e o"))}
        case 11:
            return {"order": order.choice(("", "-")) + name}
    return {"startLine": order.randint(1, 500), "endLine": order.randint(1, 5000)}


def _value(order: Random) -> Any:
    return order.choice((0, 1, True, None, "", "a", "2026-11-03", [1, "a"], text(order, 20), text(order, 400)))


def _of_handle(order: Random, handle: str, names: list[str]) -> Iterator[ToolCall]:
    quoted = '"' + order.choice(names).replace('"', '""') + '"'
    literal = "'" + text(order, order.choice((1, 30, 300))).replace("'", "''") + "'"
    label = '"' + text(order, 40).replace('"', '""') + '"'
    statement = order.choice(HEAVY_STATEMENTS if order.random() < 0.02 else STATEMENTS)
    statement = statement.format(name=quoted, text=literal, text_name=label)
    yield ToolCall("result_query", {"handle": handle, "sql": statement})
    yield ToolCall("result_search", {"handle": handle, **order.choice(({"text": text(order, 2)}, {"regex": "."}))})
    path = order.choice((order.choice(names), "items.*.id", "*", "rows", "a.*.b"))
    part = order.choice(({}, {"path": path}, {"rows": "0-1000"}, {"rows": "0"}, {"startLine": 1}))
    yield ToolCall("result_get", {"handle": handle, **part})
