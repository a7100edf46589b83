"""Invents mistakes in calls of any tool, and follows the suggestions of their errors word by word.

for mistake in mistakes(valid_calls, seed=1):
    answer = call(mistake.operation, mistake.arguments)
    again = followed(answer["error"], mistake, call)
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

from context_protection.core.policy import DEFAULTS
from gateway.catalog.catalog import catalogue

Arguments = dict[str, Any]
Ask = Callable[[str, Arguments], dict[str, Any]]
Make = Callable[[Random, Arguments, Mapping[str, Any]], Arguments | None]

UNKNOWN = {
    "verbose": True,
    "locale": "en_GB",
    "expand": "all",
    "includeTotals": 1,
    "foo": "bar",
    "page": 2,
    "offset": 50,
}
OF_ANOTHER_TYPE = ("abc", True, 3.7, -5, ["x", "y"], {"a": 1}, "", "1e999", "n/a", "none")
CRITERIA = (
    {"gendr": "Male"},
    {"gender": "Rams"},
    {"bornAfter": "last year"},
    {"bornAfter": "2025-01-01", "bornBefore": "2020-01-01"},
    {"provenOnly": "perhaps"},
    {"breedId": -4},
    {"traitRanges": {"BWTT": {"min": 1}}},
    {"traitRanges": {"BWT": {"min": 3, "max": 1}}},
    {"traitRanges": {"BWT": 5}},
    {"colour": "black"},
    {"flockId": ""},
    {"status": ["CURRENT", "SOLD"]},
    "Male",
)
DATES = ("tomorrow", "2026-13-40", "20th of May", "05/06/2026", "2026-02-30", 20261120, "")


@dataclass(frozen=True)
class Mistake:
    kind: str
    operation: str
    arguments: Arguments


def mistakes(calls: Sequence[tuple[str, Arguments]], seed: int) -> Iterator[Mistake]:
    """`calls`: valid calls. Each mistake is one change of one of them. They have no end."""
    rng = Random(seed)
    while True:
        operation, arguments = rng.choice(calls)
        kind, make = rng.choice(MISTAKES)
        properties = catalogue.get(operation).schema(DEFAULTS)["properties"]
        made = make(rng, deepcopy(arguments), properties)
        if made is not None and made != arguments:
            yield Mistake(kind, operation, made)


# -- Mistakes ---------------------------------------------------------------------------------------


def misspelt(rng: Random, text: str) -> str:
    """Two letters swapped, or one left out, doubled or replaced."""
    if len(text) < 3:
        return f"{text}s"
    place = rng.randrange(1, len(text) - 1)
    before, letter, after = text[:place], text[place], text[place + 1 :]
    return rng.choice([before + after, f"{before}{letter}{letter}{after}", f"{before}{after[0]}{letter}{after[1:]}",
                       f"{before}{rng.choice('aeioun')}{after}"])  # fmt: skip


def _a_misspelt_name(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    if not arguments:
        return None
    name = rng.choice(list(arguments))
    arguments[misspelt(rng, name)] = arguments.pop(name)
    return arguments


def _an_unknown_name(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    name = rng.choice([each for each in UNKNOWN if each not in properties])
    return {**arguments, name: UNKNOWN[name]}


def _a_missing_argument(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    name = rng.choice(list(arguments)) if arguments else None
    return {each: value for each, value in arguments.items() if each != name}


def _another_type(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    name = rng.choice([each for each in properties if each != "cursor"])
    return {**arguments, name: rng.choice(OF_ANOTHER_TYPE)}


def _out_of_range(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    bounded = [each for each, schema in properties.items() if {"minimum", "maximum"} & schema.keys()]
    if not bounded:
        return None
    name = rng.choice(bounded)
    bounds = properties[name]
    below, above = (
        bounds.get("minimum", 0) - rng.choice([1, 7, 500]),
        bounds.get("maximum", 10**6) + rng.choice([1, 99]),
    )
    return {**arguments, name: rng.choice([below, above] if "maximum" in bounds else [below])}


def _a_wrong_choice(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    chosen = [each for each, schema in properties.items() if "enum" in schema]
    if not chosen:
        return None
    name = rng.choice(chosen)
    value = rng.choice(properties[name]["enum"])
    return {**arguments, name: rng.choice([misspelt(rng, str(value)), "nonsense", [value, value]])}


def _a_wrong_order(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    if "pattern" not in properties.get("order", {}):
        return None
    fields = re.findall(r"\w+", properties["order"]["pattern"])
    return {**arguments, "order": rng.choice(["", "-"]) + misspelt(rng, rng.choice(fields))}


def _a_wrong_date(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    dates = [each for each, schema in properties.items() if schema.get("format") in ("date", "date-time")]
    return {**arguments, rng.choice(dates): rng.choice(DATES)} if dates else None


def _a_turned_range(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    if "startLine" in properties and "id" in properties:
        return {**arguments, "startLine": 30, "endLine": 20}
    pairs = [("checkInFrom", "checkInTo"), ("createdFrom", "createdTo")]
    pair = next((each for each in pairs if each[0] in properties), None)
    return {**arguments, pair[0]: "2026-12-24", pair[1]: "2026-11-24"} if pair else None


def _wrong_fields(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    names = arguments.get("fields", "").split(",")
    if names == [""] or "fields" not in properties:
        return None
    wrong = rng.choice([*([misspelt(rng, names[0])] * 3), "nothingLikeIt"])
    return {**arguments, "fields": ",".join([wrong, *names[1:]])}


def _wrong_conditions(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    where = arguments.get("where")
    if not isinstance(where, dict):
        return None
    name, raw = next(iter(where.items()))
    op = next(iter(raw)) if isinstance(raw, dict) else "eq"
    value = raw[op] if isinstance(raw, dict) else raw
    wrong = rng.choice([
        {misspelt(rng, name): raw},
        {name: {misspelt(rng, op): value}},
        {name: {"like": value}},
        {"nothingLikeIt": 5, name: raw},
        {name: {op: [value]} if op != "in" else {op: 5}},
        {name: {}},
        {name: {"isnull": "perhaps"}},
        {name: {op: {"nested": 1}}},
        f"{name} = {value}",
        [name, value],
    ])  # fmt: skip
    return {**arguments, "where": wrong}


def _a_wrong_aggregate(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    aggregate = arguments.get("aggregate")
    if not isinstance(aggregate, dict):
        return None
    (key, metric) = aggregate["groupBy"][0], aggregate["metrics"][0]
    wrong = rng.choice([
        {**aggregate, "groupBy": [misspelt(rng, key)]},
        {**aggregate, "metrics": [{**metric, "op": misspelt(rng, metric["op"])}]},
        {**aggregate, "metrics": [{**metric, "op": "stddev"}]},
        {**aggregate, "metrics": [{**metric, "field": misspelt(rng, metric["field"])}]},
        {**aggregate, "metrics": [{"op": "sum"}]},
        {**aggregate, "metrics": [{"op": "percentile", "field": metric["field"]}]},
        {**aggregate, "metrics": [{"op": "percentile", "field": metric["field"], "p": 90}]},
        {**aggregate, "orderBy": misspelt(rng, f"-{metric['as']}")},
        {**aggregate, "groupBy": [{"field": key, "bucket": "decade"}]},
        {**aggregate, "limit": rng.choice([0, 5000, "many"])},
        {**aggregate, "having": {"count": 2}},
        {misspelt(rng, "groupBy"): [key], "metrics": [metric]},
        "count by status",
    ])  # fmt: skip
    return {**arguments, "aggregate": wrong}


def _a_wrong_page(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    wrong: list[Arguments] = [{"limit": each} for each in (0, -3, 5000, "many")] if "limit" in properties else []
    if "pages" in properties:
        wrong += [{"pages": each} for each in ("all", "0-2", "3-1", "1-500")]
    if "cursor" in properties:
        wrong += [{"cursor": each} for each in ("", "abc", "2", "gAAAAABrnothing")]
    return {**arguments, **rng.choice(wrong)} if wrong else None


def _an_unknown_record(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    names = [each for each in arguments if each in ("id", "lpn_id", "search_string", "handle", "breed_id", "name")]
    if not names:
        return None
    value = arguments[names[0]]
    wrong = (
        [0, -1, 999_999_999, "abc", "unknown"] if isinstance(value, int) else ["nowhere.md", "x", misspelt(rng, value)]
    )
    return {**arguments, names[0]: rng.choice(wrong)}


def _wrong_criteria(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    if "search_criteria" not in properties:
        return None
    return {**arguments, "search_criteria": rng.choice(CRITERIA)}


def _a_wrong_part(rng: Random, arguments: Arguments, properties: Mapping[str, Any]) -> Arguments | None:
    if "path" in properties and "handle" in arguments:
        wrong: list[Arguments] = [{"rows": each} for each in ("first", "10-5", "900000", "-1")]
        wrong += [{"path": each} for each in (misspelt(rng, "guestName"), "guestName.first", "*.nothing", "")]
        return {**arguments, **rng.choice(wrong)}
    if "regex" in properties:
        return {**{k: v for k, v in arguments.items() if k != "text"}, **rng.choice([{"regex": "("}, {"text": ""}, {}])}
    return None


MISTAKES: Sequence[tuple[str, Make]] = [
    ("misspelt name", _a_misspelt_name),
    ("unknown name", _an_unknown_name),
    ("missing", _a_missing_argument),
    ("another type", _another_type),
    ("another type", _another_type),
    ("out of range", _out_of_range),
    ("choice", _a_wrong_choice),
    ("order", _a_wrong_order),
    ("date", _a_wrong_date),
    ("turned range", _a_turned_range),
    ("fields", _wrong_fields),
    ("where", _wrong_conditions),
    ("aggregate", _a_wrong_aggregate),
    ("page", _a_wrong_page),
    ("record", _an_unknown_record),
    ("criteria", _wrong_criteria),
    ("part", _a_wrong_part),
]


# -- Following a suggestion -------------------------------------------------------------------------

SET = re.compile(r"Set (\S+) to (?:a value such as )?(.+?)(?:, (?:and|or) .*)?\.(?: .*)?")
LEAVE = re.compile(r"Leave (\S+(?:, \S+)*?(?: and \S+)?) out(?:[,.;: ].*)?")
ALSO_LEAVE = re.compile(r"[Ll]eave (\S+(?:, \S+)*?(?: and \S+)?) out\.")
RENAME = re.compile(r"Rename (\S+) to (\S+?)(?:\.| and .*)")
EXCHANGE = re.compile(r"Exchange (\S+) and (\S+)\.")
FIND = re.compile(r"Find the (\w+) with (\w+)[.;].*")
WITHOUT = re.compile(r"Start again without (\w+);.*")
HANDLE = re.compile(r"Call the list .*, and set handle to its meta\.resultHandle\.")


def followed(error: Mapping[str, Any], mistake: Mistake, ask: Ask) -> dict[str, Any] | None:
    """The answer to the call that the suggestion spells out; None if it spells out none."""
    arguments = applied(str(error["data"].get("suggestion", "")), mistake, ask)
    return None if arguments is None else ask(mistake.operation, arguments)


def applied(suggestion: str, mistake: Mistake, ask: Ask) -> Arguments | None:
    arguments: Arguments = deepcopy(mistake.arguments)
    properties = catalogue.get(mistake.operation).schema(DEFAULTS)["properties"]
    if found := SET.fullmatch(suggestion):
        path, text = found[1].split("."), found[2]
        return _changed(
            arguments, path, lambda holder, name: holder.__setitem__(name, _read(text, properties.get(path[0])))
        )
    if found := LEAVE.fullmatch(suggestion):
        return _without(arguments, found[1])
    if found := ALSO_LEAVE.search(suggestion):
        arguments = _without(arguments, found[1])
    if found := RENAME.fullmatch(suggestion):
        new = found[2].split(".")[-1]
        return _changed(arguments, found[1].split("."), lambda holder, name: holder.__setitem__(new, holder.pop(name)))
    if found := EXCHANGE.fullmatch(suggestion):
        first, second = (_place(arguments, name) for name in found.groups())
        first[0][first[1]], second[0][second[1]] = second[0][second[1]], first[0][first[1]]
        return arguments
    if found := FIND.fullmatch(suggestion):
        return {**arguments, found[1]: _first(ask(found[2], {}), found[1])}
    if HANDLE.fullmatch(suggestion):
        return {**arguments, "handle": ask("list_bookings", {})["meta"]["resultHandle"]}
    if found := WITHOUT.fullmatch(suggestion):
        return {name: value for name, value in arguments.items() if name != found[1]}
    return None


def _without(arguments: Arguments, names: str) -> Arguments:
    """`names`: such as "a, b and c"."""
    for name in re.split(r", | and ", names):
        arguments = _changed(arguments, name.split("."), lambda holder, step: holder.pop(step, None))
    return arguments


def _place(arguments: Arguments, path: str) -> tuple[Any, str]:
    *parents, name = path.split(".")
    holder: Any = arguments
    for step in parents:
        holder = holder[step]
    if name not in holder:  # a nested name, given without its path
        holder = next(each for each in arguments.values() if isinstance(each, dict) and name in each)
    return holder, name


def _changed(arguments: Arguments, path: Sequence[str], change: Callable[[Any, Any], Any]) -> Arguments:
    holder: Any = arguments
    *parents, name = path
    for step in parents:
        holder = holder[int(step)] if isinstance(holder, list) else holder.setdefault(step, {})
    change(holder, int(name) if isinstance(holder, list) else name)
    return arguments


def _read(text: str, schema: Mapping[str, Any] | None) -> Any:
    """The value that a suggestion writes: JSON, unless the argument is a text."""
    if schema is not None and schema.get("type") == "string":
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _first(answer: Mapping[str, Any], name: str) -> Any:
    """The value for the argument in a list's first row, or the first that the answer has at any depth."""
    table = answer.get("table", {"columns": [], "rows": []})
    pending: list[Any] = [answer, *(dict(zip(table["columns"], row, strict=True)) for row in table["rows"])]
    wanted = {name.lower(), name.lower().replace("_", ""), "id", "lpnid", "name"}
    while pending:
        part = pending.pop(0)
        if isinstance(part, dict):
            for key, value in part.items():
                if key.lower() in wanted and not isinstance(value, (dict, list)):
                    return value
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    return None
