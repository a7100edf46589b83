"""The server's instructions: how to use its answers. Only tools that the client can call are named."""

from collections.abc import Container

from gateway.catalog.catalog import Operations
from gateway.dispatch.hints import CALL_ACTION, CALL_TOOL

ANSWERS = (
    "Answers are kept small, and each says how to get what it left out: when an answer names a tool and its arguments, "
    "call it exactly like that. A list comes in pages: repeat the call with cursor set to nextCursor until there is "
    "none. A large record comes as a preview: meta.detailsAvailable has the call for all of it (fields=all) and for "
    "its sections. A long text comes in chunks, by cursor or by startLine and endLine; search gives only its "
    "matching lines."
)
LISTS = (
    'Do not page through a list to count or to filter: where selects rows, {"field": {"gte": 5}} with eq, ne, gt, gte, '
    "lt, lte, in, contains or isnull, search finds words anywhere in a row, and aggregate returns totals (count, sum, "
    "avg, min, max, median, p90) by group or month."
)
RESULTS = {
    "result_query": "runs SQL over all rows of a list, and joins lists: call each with format=handle, then "
    '{"handles": {"b": "…", "l": "…"}, "sql": "SELECT … FROM b JOIN l ON …"}',
    "result_search": "finds text in a list, record or document",
    "result_get": "reads a part of it",
}
SECRETS = "Passwords, door codes and other secrets are masked; an operator can reveal a field to an API key."


def instructions(listed: Container[str], callable_tools: Operations, *, acts: bool, hidden: Container[str]) -> str:
    """`listed`: the tools of the client's list, among them search_tools if the others must be searched for. `acts`:
    whether the list has call_action."""
    searched = "search_tools" in listed
    results = {name: does for name, does in RESULTS.items() if callable_tools.find(name, hidden)}
    return " ".join(
        [
            ANSWERS,
            LISTS,
            *([_results(results, by_name=searched)] if results else []),
            *([_search(acts=acts)] if searched else []),
            SECRETS,
        ]
    )


def _results(results: dict[str, str], *, by_name: bool) -> str:
    how = f" ({CALL_TOOL} calls them)" if by_name else ""
    each = "; ".join(f"{name} {does}" for name, does in results.items())
    return f"An answer that left something out has meta.resultHandle, which these tools take{how}: {each}."


def _search(*, acts: bool) -> str:
    action = f", and {CALL_ACTION} a tool that changes something" if acts else ""
    return (
        "Most tools are not listed: search_tools finds them by what they do, describe_tool shows their arguments, "
        f"{CALL_TOOL} calls a tool that reads{action}."
    )
