"""The catalogue: every operation that can be called, whatever the door."""

import difflib
import inspect
from collections.abc import Awaitable, Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from context_protection import budgets
from context_protection.errors import UnknownOperation, nearest
from context_protection.payloads import Payload
from context_protection.policy import Kind, Policy
from gateway.access.callers import Caller

Fetch = Callable[[Mapping[str, Any], Caller], Payload]
FetchAsync = Callable[[Mapping[str, Any], Caller], Awaitable[Payload]]


@dataclass(frozen=True, eq=False)
class Operation:
    """One callable thing. `parameters` are the JSON Schemas of its own arguments, by name; those of protection
    (limit, cursor, fields, …) are added by its kind. `fetch` gets valid arguments with defaults, and who asks. It
    blocks, on a thread, or is a coroutine function, on the loop: then cancelling the call cancels it."""

    name: str
    title: str
    description: str
    kind: Kind
    parameters: Mapping[str, Mapping[str, Any]]
    fetch: Fetch | FetchAsync
    endpoint: str
    required: tuple[str, ...] = ()
    form: tuple[str, ...] | None = None  # those of its kind's own arguments that it takes; None: all
    quiet: frozenset[str] = frozenset()  # arguments that a tool list leaves out: `where` says the same
    record_operation: str | None = None
    listed: bool = True  # in a list of all tools; else only where tools are searched for
    tags: tuple[str, ...] = ()  # upstream's words for what it is about: its tags, its own names
    settings: Mapping[str, Any] = field(default_factory=dict)  # of its policy, where nobody has set anything
    field_names: tuple[str, ...] = field(default=(), repr=False)  # examples for `fields`
    version: Callable[[], Hashable] | None = None  # of all that answers are made from; None: not known, keep none

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fetch)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {name: schema["default"] for name, schema in self.parameters.items() if "default" in schema}

    def told(self, policy: Policy) -> str:
        """The description, with what a model should know of how its answers are kept small."""
        if self.kind is Kind.RECORD and policy.summarization:
            threshold = f"{policy.token_budget_threshold:,}"
            return f"{self.description} Above {threshold} tokens it comes as a preview with sections to open."
        return self.description

    def schema(self, policy: Policy, *, brief: bool = False) -> dict[str, Any]:
        """The JSON Schema of all arguments, as published. A brief one leaves out what a model does without."""
        quiet = self.quiet if brief else ()
        own = {name: schema for name, schema in self.parameters.items() if name not in quiet}
        form = FORM_PARAMETERS[self.kind](self, policy)
        taken = form if self.form is None else {name: form[name] for name in self.form}
        return {
            "type": "object",
            "properties": {**own, **taken},
            **({"required": list(self.required)} if self.required else {}),
            **({} if brief else {"additionalProperties": False}),
        }


def _list_parameters(operation: Operation, policy: Policy) -> dict[str, Any]:
    return {
        "where": {
            "type": "object",
            "description": 'Conditions: {"totalPrice":{"gte":500}}; eq ne gt gte lt lte in contains isnull.',
        },
        "aggregate": {
            "type": "object",
            "description": 'Totals, not rows: {"groupBy":["status",{"field":"insertedOn","bucket":"month"}],'
            '"metrics":[{"op":"count"}]}; sum avg min max p90 of a field.',
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": policy.max_page_size,
            "default": policy.default_page_size,
            "description": "Rows per page.",
        },
        "cursor": _CURSOR,
        "pages": {"type": "string", "description": "Several pages at once, e.g. 1-3."},
        "fields": _fields(operation, "Fields of each row"),
        "format": {
            "type": "string",
            "enum": ["items", "table"],
            "description": "Unset: whichever fits.",
        },
    }


def _record_parameters(operation: Operation, policy: Policy) -> dict[str, Any]:
    return {"fields": _fields(operation, "Fields or sections"), "cursor": _CURSOR}


def _text_parameters(operation: Operation, policy: Policy) -> dict[str, Any]:
    return {
        "startLine": {"type": "integer", "minimum": 1, "description": "First line of a range, from 1."},
        "endLine": {"type": "integer", "minimum": 1, "description": "Last line of it, inclusive."},
        "cursor": _CURSOR,
    }


def _fields(operation: Operation, what: str) -> dict[str, Any]:
    examples = ",".join(operation.field_names[:3])
    hint = f" (e.g. {examples})" if examples else ""
    return {"type": "string", "description": f"{what}, by commas{hint}; dotted paths; or all."}


_CURSOR = {"type": "string", "description": "nextCursor of the answer before."}

FORM_PARAMETERS: Mapping[Kind, Callable[[Operation, Policy], dict[str, Any]]] = {
    Kind.LIST: _list_parameters,
    Kind.RECORD: _record_parameters,
    Kind.TEXT: _text_parameters,
    Kind.ACTION: lambda operation, policy: {},
}
FORM_NAMES = frozenset({"limit", "cursor", "pages", "fields", "format"})


MOST_NAMED = 40  # operations that an error names
LONGEST_NAME = 80  # characters of a name that is compared with others


class Catalogue:
    """Operations by name, in the order in which they were offered."""

    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}

    def offer(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            self._operations[operation.name] = operation
            budgets.declare(operation.name, operation.kind, operation.settings)

    def withdraw(self, name: str) -> None:
        """Takes an operation out, if it is there."""
        self._operations.pop(name, None)
        budgets.withdraw(name)

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations.values())

    def state(self) -> tuple[Operation, ...]:
        """All of them now: equal to an earlier one for as long as nothing has changed."""
        return tuple(self._operations.values())

    def find(self, name: str, hidden: Container[str] = ()) -> Operation | None:
        return None if name in hidden else self._operations.get(name)

    def get(self, name: str, hidden: Container[str] = ()) -> Operation:
        """Raises UnknownOperation, for one that is hidden from who asks as for one that does not exist."""
        operation = self.find(name, hidden)
        if operation is None:
            visible = [each for each in self._operations if each not in hidden]
            close = nearest(name, visible, cutoff=0.4)
            raise UnknownOperation(
                f"There is no operation {name[:80]!r}.",
                reason="unknown_operation",
                parameter="name",
                value=name,
                expected=_expected(name, visible),
                suggestion=f"Did you mean {close}?" if close else "List the tools, and call one of them.",
            )
        return operation


def _expected(name: str, visible: Sequence[str]) -> str:
    """All names; where they are many, those that are likely meant."""
    if len(visible) <= MOST_NAMED:
        return f"one of: {', '.join(visible)}"
    close = difflib.get_close_matches(name[:LONGEST_NAME], visible, n=5, cutoff=0.3)
    return f"one of {len(visible)} names, which search_tools finds" + (f": {', '.join(close)} …" if close else "")


catalogue = Catalogue()
