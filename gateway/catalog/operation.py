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

DESCRIBE_TOOL = "describe_tool"  # the tool that has all of another's definition


@dataclass(frozen=True, slots=True)
class Fetched:
    """A payload that is as good as new until `fresh_until`, time.monotonic(): an equal call gets the same answer.
    `version`: equal for equal payloads of equal calls; None: not known."""

    payload: Payload
    fresh_until: float = 0.0
    version: Hashable = None


Fetch = Callable[[Mapping[str, Any], Caller], Payload]
FetchAsync = Callable[[Mapping[str, Any], Caller], Awaitable[Payload | Fetched]]


def as_fresh_as_its_answer() -> int:
    """The version of what only an upstream knows of: each answer says itself until when it stands."""
    return 0


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
    # What arguments of its own say of these: {"limit": 15}.
    form_of: Callable[[Mapping[str, Any]], Mapping[str, Any]] = lambda given: {}
    quiet: frozenset[str] = frozenset()  # arguments that a tool list leaves out: `where` says the same
    shown: Mapping[str, Mapping[str, Any]] | None = (
        None  # `parameters` as a tool list has them, where it is another way
    )
    record_operation: str | None = None  # that opens one of its rows
    record_key: tuple[str, str] = ("id", "id")  # the argument of it that tells the row, and the row's field that has it
    record_shared: Mapping[str, str] = field(
        default_factory=dict
    )  # arguments of it that are these, by their names here
    record_is_row: bool = True  # what it answers is all of the row
    pinned: bool = False  # in every list, also where tools are searched for
    listed: bool = True  # in a list of all tools; else only where tools are searched for
    tags: tuple[str, ...] = ()  # upstream's words for what it is about: its tags, its own names
    settings: Mapping[str, Any] = field(default_factory=dict)  # of its policy, where nobody has set anything
    shape: Shape = field(default=ANY, repr=False)  # of what an upstream answers, which a walk goes on with
    field_names: tuple[str, ...] = field(default=(), repr=False)  # examples for `fields`
    version: Callable[[], Hashable] | None = None  # of all that answers are made from; None: not known, keep none
    is_redacted: bool = False  # what it fetches has no secrets: it was redacted when it was stored, or is ours
    called_once: bool = False  # for one answer, however much of it is asked for; an action always is
    destructive: bool | None = None  # of an action: whether it may undo or delete; None: not known
    idempotent: bool | None = None  # of an action: whether it does no more when it is called twice; None: not known

    @cached_property
    def asks_secrets(self) -> frozenset[str]:
        """Arguments of its own that would tell a secret by whether rows are found: refused unless the caller's key
        reveals the name, and in no tool list. Not of what acts, whose inputs they are; nor what is required, which its
        caller must know."""
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
        """The description, with what a model should know of how it and its answers are kept small."""
        told = [self.description]
        if self.kind is Kind.RECORD and policy.summarization:
            threshold = f"{policy.token_budget_threshold:,}"
            told.append(f"Above {threshold} tokens it comes as a preview with sections to open.")
        if self.shown is not None:
            told.append(f"Its arguments are shown in brief: {DESCRIBE_TOOL} has all of them.")
        return " ".join(told)

    def schema(self, policy: Policy, *, brief: bool = False) -> dict[str, Any]:
        """The JSON Schema of all arguments, as published. A brief one leaves out what a model does without."""
        quiet = self.quiet | self.asks_secrets if brief else ()
        parameters = self.shown if brief and self.shown is not None else self.parameters
        own = {name: schema for name, schema in parameters.items() if name not in quiet}
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
