"""Tools that find tools. Clients get these instead of the full list if that would flood the context."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from context_protection.configuration.policies import policy_for
from context_protection.core.errors import nearest
from context_protection.core.payloads import AS_COMPUTED, Payload, Record
from context_protection.core.policy import Kind
from context_protection.core.rows import Loaded, MemoryRows
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import Operations, catalogue
from gateway.catalog.definition import DESCRIBE_TOOL
from gateway.catalog.examples import example
from gateway.catalog.operation import Operation
from gateway.connectors.tools.search import Index
from gateway.connectors.tools.words import STOP_WORDS, nouns, words

Arguments = Mapping[str, Any]

SHORT_CHARS = 72  # characters of the column `does`
ARGUMENT_CHARS = 44  # characters of the column `arguments`
GROUP_CHARS = 900  # characters of all groups together
LONGEST_NAME = 64  # characters of a name that a note repeats
PAGE = 8  # rows of search_tools


# -- The search index -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Indexed:
    """A snapshot of the catalogue's operations, and the search index of those that are listed."""

    operations: Operations
    index: Index = field(repr=False)


_cached: _Indexed | None = None
_lock = threading.Lock()


def index() -> Index:
    """The search index of the current catalogue. It is rebuilt after the catalogue has changed."""
    global _cached
    operations = catalogue.operations
    cached = _cached
    if cached is None or cached.operations is not operations:
        with _lock:
            cached = _cached
            if cached is None or cached.operations is not operations:
                cached = _cached = _Indexed(operations, Index(each for each in operations if each.listed))
    return cached.index


def visible(caller: Caller) -> list[Operation]:
    """The tools that this caller can find, in the catalogue's order."""
    return [each for each in catalogue if each.listed and each.name not in caller.tools.hidden]


# -- search_tools -----------------------------------------------------------------------------------


def _search(arguments: Arguments, caller: Caller) -> Payload:
    return MemoryRows(lambda: _found(arguments.get("query", ""), caller), options=AS_COMPUTED)


def _found(query: str, caller: Caller) -> Loaded:
    tools = {operation.name: operation for operation in visible(caller)}
    if not query.strip():
        return Loaded([_row(each) for each in tools.values()], _overview(list(tools.values())))
    rows = [_row(tools[name]) for name in index().search(query) if name in tools]
    return Loaded(rows) if rows else Loaded([], _nothing(query, tools))


def _row(operation: Operation) -> dict[str, Any]:
    row = {
        "name": operation.name,
        "does": _clipped(_does(operation), SHORT_CHARS),
        "arguments": _arguments(operation),
    }
    return {**row, "acts": True} if operation.kind is Kind.ACTION else row


def _does(operation: Operation) -> str:
    """The description. The title precedes it if it has words that are in neither the name nor the description."""
    present = set(words(operation.name)) | set(words(operation.description))
    says_more = set(words(operation.title)) - present - STOP_WORDS
    return f"{operation.title}. {operation.description}" if says_more else operation.description


def _clipped(text: str, chars: int) -> str:
    """The beginning of the text, cut at the end of a word."""
    return text if len(text) <= chars else f"{text[:chars].rpartition(' ')[0] or text[:chars]}…"


def _arguments(operation: Operation) -> str:
    """ "id*, fields": the argument names, the required ones first and marked with a star."""
    optional = [name for name in operation.parameters if name not in operation.required]
    names = [*(f"{name}*" for name in operation.required), *optional]
    shown: list[str] = []
    for name in names:
        if sum(len(each) + 2 for each in shown) + len(name) > ARGUMENT_CHARS:
            return ", ".join([*shown, "…"])
        shown.append(name)
    return ", ".join(shown)


def _overview(tools: Sequence[Operation]) -> dict[str, Any]:
    return {"notes": ["Every tool, in pages: say in query what you want to do."], "groups": _groups(tools)}


def _nothing(query: str, tools: Mapping[str, Operation]) -> dict[str, Any]:
    close = nearest(query[:LONGEST_NAME], tools, cutoff=0.4)
    likely = f" The nearest name is {close[:LONGEST_NAME]}." if close else ""
    note = f"No tool matches this query.{likely} Search with other words, or for one of the groups."
    return {"notes": [note], "groups": _groups(list(tools.values()))}


def _groups(tools: Sequence[Operation]) -> str:
    """ "booking 8, listing 5": the nouns in the tools' names and how many tools each has, the largest group first."""
    named = [(operation, nouns(operation)) for operation in tools]
    common = Counter(noun for _, each in named for noun in each)
    sizes = Counter(max(each, key=lambda noun: common[noun]) for _, each in named if each)
    groups = [f"{name[:LONGEST_NAME]} {size}" for name, size in sizes.most_common()]
    shown = [group for place, group in enumerate(groups) if sum(len(each) + 2 for each in groups[:place]) < GROUP_CHARS]
    return ", ".join([*shown, f"and {len(groups) - len(shown)} more"] if len(shown) < len(groups) else shown)


# -- describe_tool ----------------------------------------------------------------------------------


def _describe(arguments: Arguments, caller: Caller) -> Payload:
    operation = replace(catalogue.get(arguments["name"], caller.tools.hidden), shown=None)
    policy = policy_for(operation.name, caller.name)
    schema = operation.described_schema(policy)
    return Record(
        {
            "name": operation.name,
            "title": operation.title,
            "description": operation.published_description(policy),
            "inputSchema": schema,
            "example": {"name": operation.name, "arguments": _example(operation, schema)},
        }
    )


def _example(operation: Operation, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a valid call: the required ones, or the first of the others if none is required."""
    properties = schema["properties"]
    own = [name for name in operation.parameters if name in properties and name not in operation.form_names]
    chosen = operation.required or own[:1]
    return {name: example(properties.get(name, {})) for name in chosen}


# -- The operations ---------------------------------------------------------------------------------


def operations() -> list[Operation]:
    return [
        Operation(
            name="search_tools",
            title="Search the tools",
            description="Finds tools by what they do, the likeliest first; * marks required arguments. "
            "Without query: all tools, and their groups.",
            kind=Kind.LIST,
            parameters={
                "query": {
                    "type": "string",
                    "maxLength": 500,
                    "description": "What you want to do, in a few words.",
                    "examples": ["cancel a booking", "unpaid invoices"],
                }
            },
            fetch=_search,
            endpoint="/api/v1/tools/search_tools",
            is_redacted=True,
            form=("limit", "cursor"),
            listed=False,
            in_every_set=True,
            settings={"default_page_size": PAGE},
        ),
        Operation(
            name=DESCRIBE_TOOL,
            title="Describe a tool",
            description="All of a tool before its first call: description, JSON Schema of its arguments, and an "
            "example as call_tool or call_action takes it.",
            kind=Kind.RECORD,
            parameters={
                "name": {
                    "type": "string",
                    "maxLength": 200,
                    "description": "Its name in search_tools.",
                    "examples": ["get_booking"],
                }
            },
            required=("name",),
            fetch=_describe,
            endpoint="/api/v1/tools/describe_tool",
            is_redacted=True,
            listed=False,
            in_every_set=True,
            settings={"summarization": False},
        ),
    ]
