"""Operations: what can be called, how it is fetched, and the JSON Schema of its arguments."""

import inspect
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind, Policy
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import ANY, Shape
from gateway.access.callers import Caller

DESCRIBE_TOOL = "describe_tool"  # the tool that returns another tool's full definition


@dataclass(frozen=True, slots=True)
class Fetched:
    """A payload that is fresh until `fresh_until` (time.monotonic()): until then an equal call gets the same answer.
    `version` is equal for equal payloads of equal calls; None: unknown."""

    payload: Payload
    fresh_until: float = 0.0
    version: Hashable = None


Fetch = Callable[[Mapping[str, Any], Caller], Payload]
FetchAsync = Callable[[Mapping[str, Any], Caller], Awaitable[Payload | Fetched]]


def as_fresh_as_its_answer() -> int:
    """The `version` of an operation whose data only the upstream knows. Freshness comes from each response, not from a
    revision."""
    return 0


@dataclass(frozen=True, eq=False)
class Operation:
    """One callable thing. `parameters` are the JSON Schemas of its own arguments, by name; its kind adds the arguments
    of protection (limit, cursor, fields, …). `fetch` gets the valid arguments with defaults, and the caller. It either
    blocks, on a thread, or is a coroutine function, on the event loop, which is cancelled together with the call."""

    name: str
    title: str
    description: str
    kind: Kind
    parameters: Mapping[str, Mapping[str, Any]]
    fetch: Fetch | FetchAsync
    endpoint: str
    required: tuple[str, ...] = ()
    form: tuple[str, ...] | None = None  # which of its kind's protection arguments it takes; None: all
    # Protection arguments derived from its own arguments: {"limit": 15}.
    form_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}
    quiet: frozenset[str] = frozenset()  # arguments hidden from tool lists, because `where` can express them
    shown: Mapping[str, Mapping[str, Any]] | None = None  # `parameters` as tool lists show them, if different
    record_operation: str | None = None  # the operation that returns one row as a record
    record_key: tuple[str, str] = ("id", "id")  # (argument of record_operation, field of the row)
    record_shared: Mapping[str, str] = field(default_factory=dict)  # passed on to it: its argument → the one here
    record_is_row: bool = True  # whether record_operation returns the whole row
    pinned: bool = False  # in every tool list, also in search mode
    listed: bool = True  # False: found only by search, not in the list of all tools
    tags: tuple[str, ...] = ()  # the upstream's words for it: tags and names
    settings: Mapping[str, Any] = field(default_factory=dict)  # its policy's defaults; budgets override them
    shape: Shape = field(default=ANY, repr=False)  # shape of the upstream's data; a snapshot goes on with it
    field_names: tuple[str, ...] = field(default=(), repr=False)  # examples for `fields`
    version: Callable[[], Hashable] | None = None  # version of the data behind answers; None: unknown, not cached
    is_redacted: bool = False  # the data was redacted when stored, or has no secrets
    called_once: bool = False  # fetched once per result, never again for later pages; always so for actions
    destructive: bool | None = None  # for an action: whether it may undo or delete; None: unknown
    idempotent: bool | None = None  # for an action: whether a second equal call changes nothing; None: unknown

    @cached_property
    def asks_secrets(self) -> frozenset[str]:
        """Optional arguments that would reveal a secret by whether rows are found. They are in no tool list, and are
        rejected unless the caller's key reveals the name. Arguments of actions are not among them, because they are
        inputs; nor are required ones, because the caller must know their values."""
        if self.kind is Kind.ACTION:
            return frozenset()
        return frozenset(name for name in self.parameters if name not in self.required and is_secret(name))

    @property
    def is_called_once(self) -> bool:
        return self.called_once or self.kind is Kind.ACTION

    @cached_property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.fetch)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {name: schema["default"] for name, schema in self.parameters.items() if "default" in schema}

    def told(self, policy: Policy) -> str:
        """The description as published, with what a model should know about previews and shortened arguments."""
        sentences = [self.description]
        if self.kind is Kind.RECORD and policy.summarization:
            threshold = f"{policy.token_budget_threshold:,}"
            sentences.append(f"Above {threshold} tokens it comes as a preview with sections to open.")
        if self.shown is not None:
            sentences.append(f"Its arguments are shown in brief: {DESCRIBE_TOOL} has all of them.")
        return " ".join(sentences)

    def schema(self, policy: Policy, *, brief: bool = False) -> dict[str, Any]:
        """The JSON Schema of all arguments, as published. A brief schema leaves out what a model can do without."""
        hidden = self.quiet | self.asks_secrets if brief else ()
        parameters = self.shown if brief and self.shown is not None else self.parameters
        own = {name: schema for name, schema in parameters.items() if name not in hidden}
        form = FORM_PARAMETERS[self.kind](self, policy)
        taken = form if self.form is None else {name: form[name] for name in self.form}
        return {
            "type": "object",
            "properties": {**own, **taken},
            **({"required": required} if (required := [name for name in self.required if name in own]) else {}),
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
    Kind.ACTION: lambda operation, policy: {"cursor": _CURSOR},
}
FORM_NAMES = frozenset({"limit", "cursor", "pages", "fields", "format"})
