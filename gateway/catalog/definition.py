"""Tool definitions: what is published of an operation, and the JSON Schema of its arguments."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.page_forms import FORMATS
from context_protection.core.policy import Kind, Policy
from context_protection.core.redaction import is_secret

DESCRIBE_TOOL = "describe_tool"  # the tool that returns another tool's full definition


@dataclass(frozen=True, eq=False)
class ToolDefinition:
    """The published part of an operation. `parameters` are the JSON Schemas of its own arguments, by name; its kind
    adds the arguments of protection (limit, cursor, fields, …)."""

    name: str
    title: str
    description: str
    kind: Kind
    parameters: Mapping[str, Mapping[str, Any]]
    _: KW_ONLY
    required: tuple[str, ...] = ()
    form: tuple[str, ...] | None = None  # which of its kind's protection arguments it takes; None: all
    quiet: frozenset[str] = frozenset()  # arguments hidden from tool lists, because `where` can express them
    shown: Mapping[str, Mapping[str, Any]] | None = None  # `parameters` as tool lists show them, if different
    field_names: tuple[str, ...] = field(default=(), repr=False)  # examples for `fields`
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


def _list_parameters(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
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
        "fields": _fields(definition, "Fields of each row"),
        "format": {
            "type": "string",
            "enum": list(FORMATS),
            "description": "Unset: whichever fits.",
        },
    }


def _record_parameters(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
    return {"fields": _fields(definition, "Fields or sections"), "cursor": _CURSOR}


def _text_parameters(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
    return {
        "startLine": {"type": "integer", "minimum": 1, "description": "First line of a range, from 1."},
        "endLine": {"type": "integer", "minimum": 1, "description": "Last line of it, inclusive."},
        "cursor": _CURSOR,
    }


def _fields(definition: ToolDefinition, what: str) -> dict[str, Any]:
    examples = ",".join(definition.field_names[:3])
    hint = f" (e.g. {examples})" if examples else ""
    return {"type": "string", "description": f"{what}, by commas{hint}; dotted paths; or all."}


_CURSOR = {"type": "string", "description": "nextCursor of the answer before."}

FORM_PARAMETERS: Mapping[Kind, Callable[[ToolDefinition, Policy], dict[str, Any]]] = {
    Kind.LIST: _list_parameters,
    Kind.RECORD: _record_parameters,
    Kind.TEXT: _text_parameters,
    Kind.ACTION: lambda definition, policy: {"cursor": _CURSOR},
}
FORM_NAMES = frozenset({"limit", "cursor", "pages", "fields", "format"})
