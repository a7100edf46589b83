"""Tool definitions: the published part of an operation, and the JSON Schema of its arguments."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from context_protection.core.cached_property import cached_property
from context_protection.core.handles import HANDLE
from context_protection.core.page_forms import FORMATS
from context_protection.core.policy import DEFAULTS, Kind, Policy
from context_protection.core.redaction import is_secret

DESCRIBE_TOOL = "describe_tool"  # the tool that returns another tool's full definition
# Arguments that protection handles. FORM_NAMES never reach a connector; RESERVED adds those of lists or texts only.
CURSOR = "cursor"
FORM_NAMES = frozenset({"limit", CURSOR, "pages", "fields", "format"})
RESERVED = FORM_NAMES | {"where", "aggregate", "startLine", "endLine"}
SEARCH = "search"  # the one argument of protection that an upstream's own argument of the same name replaces
RENAMED = "api_"  # the prefix of an upstream's argument whose name is reserved


@dataclass(frozen=True, eq=False)
class ToolDefinition:
    """The published part of an operation. `parameters`: name of each own argument → its JSON Schema. The kind adds
    the arguments of protection (limit, cursor, fields, …)."""

    name: str
    title: str
    description: str
    kind: Kind
    parameters: Mapping[str, Mapping[str, Any]]
    _: KW_ONLY
    required: tuple[str, ...] = ()
    form: tuple[str, ...] | None = None  # which of its kind's protection arguments it takes; None: all
    summarizes: bool = False  # takes `summarize`: the description says above which size the answer is a summary
    without_effect: frozenset[str] = frozenset()  # arguments accepted from older clients; tool lists omit them
    plain: frozenset[str] = frozenset()  # arguments whose names say enough: tool lists do not describe them
    shown: Mapping[str, Mapping[str, Any]] | None = None  # `parameters` as tool lists show them, if different
    field_names: tuple[str, ...] = field(default=(), repr=False)  # examples for `fields`
    examples: Mapping[str, Any] = field(default_factory=dict, repr=False)  # for `where` and `aggregate`, if declared
    is_strict: bool = False  # arguments are not converted: "5" for a number is rejected, and so is a similar name
    # Whole numbers from 2**53 on are valid as texts, which no client rounds: ids of 64 bits.
    takes_long_integers: bool = False
    takes_null: frozenset[str] = frozenset()  # arguments with null as a value; any other that is null is not given
    fills_pages: bool = False  # without a limit, a page of its list has as many rows as the budget allows
    # Other names of its arguments, without case, - and _: {"listingmapid": ("propertyId",)}.
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    # Other names of the fields to sort by, in the same form: {"arrivaldate": "checkInDate"}.
    order_names: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Where values of its arguments come from, as a suggestion: {"id": "Find the id with list_bookings."}
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    destructive: bool | None = None  # for an action: whether it may undo or delete; None: unknown
    idempotent: bool | None = None  # for an action: whether a second equal call changes nothing; None: unknown

    def __post_init__(self) -> None:
        added = FORM_PARAMETERS[self.kind](self, DEFAULTS) if self.form is None else self.form
        for name in self.parameters:
            if name == CURSOR or (name in FORM_NAMES and self.form is None) or (name in added and name != SEARCH):
                raise TypeError(
                    f"The operation {self.name} declares the argument {name!r}, which protection adds. "
                    f"Give it another name, such as {RENAMED + name!r}."
                )

    @cached_property
    def asks_secrets(self) -> frozenset[str]:
        """Optional arguments with the name of a secret: a call that finds rows would reveal that the value is right.
        Tool lists omit them, and calls with them are rejected unless the caller's key reveals the name. Not included:
        arguments of actions, which are inputs, and required arguments, whose values the caller must know."""
        if self.kind is Kind.ACTION:
            return frozenset()
        return frozenset(name for name in self.parameters if name not in self.required and is_secret(name))

    @cached_property
    def form_names(self) -> frozenset[str]:
        """The arguments that connectors never see. If `form` omits one of them, the operation may declare an argument
        with its name."""
        return FORM_NAMES - self.parameters.keys()

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {name: schema["default"] for name, schema in self.parameters.items() if "default" in schema}

    @cached_property
    def takes_search(self) -> bool:
        """Whether protection answers `search`: it selects rows of a list, or lines of a text."""
        return SEARCH in self._protection(DEFAULTS)

    @cached_property
    def takes_format(self) -> bool:
        """Whether protection answers `format`, which stores a result of any size and gives its handle."""
        return "format" in self._protection(DEFAULTS)

    def published_description(self, policy: Policy) -> str:
        """The description as published, with notes on summaries and shortened arguments."""
        sentences = [self.description]
        if self.summarizes and policy.summarization:
            sentences.append(f"Summary above {policy.token_budget_threshold} tokens.")
        if self.shown is not None:
            sentences.append(f"Its arguments are shown in brief: {DESCRIBE_TOOL} has all of them.")
        return " ".join(sentences)

    def schema(self, policy: Policy) -> dict[str, Any]:
        """The JSON Schema of all arguments."""
        return {**self._object({**self.parameters, **self._protection(policy)}), "additionalProperties": False}

    def described_schema(self, policy: Policy) -> dict[str, Any]:
        """The JSON Schema that `describe_tool` shows: without arguments that ask for secrets."""
        return self._object(self._without_secrets({**self.parameters, **self._protection(policy)}))

    def listed_schema(self, policy: Policy) -> dict[str, Any]:
        """The JSON Schema that tool lists show: without the words and limits that a model does not need."""
        parameters = self.parameters if self.shown is None else self.shown
        every = self._without_secrets({**parameters, **self._protection(policy)})
        plain = self.plain | RESERVED | ({SEARCH} if self.takes_search else frozenset())
        listed = {name: _shortened(each) if name in plain else each for name, each in every.items()}
        return self._object({name: each for name, each in listed.items() if name not in self.without_effect})

    def _protection(self, policy: Policy) -> dict[str, Any]:
        form = FORM_PARAMETERS[self.kind](self, policy)
        offered = form if self.form is None else self.form
        return {name: form[name] for name in offered if name not in self.parameters}

    def _without_secrets(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in arguments.items() if name not in self.asks_secrets}

    def _object(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        required = [name for name in self.required if name in properties]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}


MOST_SHOWN_MAXIMUM = 1000  # a higher maximum is a storage limit that no caller reaches, so tool lists omit it
_UNLISTED = frozenset(
    {"default", "description", "format", "minLength", "maxLength", "minimum", "pattern", "properties"}
)
MOST_NAMES = 2  # names in the example of `fields`
MOST_CHOICES, SOME_CHOICES = 6, 2  # an enumeration of more than MOST_CHOICES is listed as SOME_CHOICES examples


def _shortened(schema: Mapping[str, Any]) -> dict[str, Any]:
    lean = {keyword: value for keyword, value in schema.items() if keyword not in _UNLISTED}
    if len(lean.get("enum", ())) > MOST_CHOICES:
        lean["examples"] = list(lean.pop("enum"))[:SOME_CHOICES]
    if lean.get("maximum", 0) > MOST_SHOWN_MAXIMUM:
        del lean["maximum"]
    return lean


# -- The arguments of protection, by kind -----------------------------------------------------------


def _list_parameters(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
    return {
        "where": {
            "type": "object",
            "description": "Conditions on fields: eq, ne, gt, gte, lt, lte, in, contains, isnull.",
            **_example(definition, "where", lambda name: {name: {"isnull": False}}),
        },
        SEARCH: {"type": "string", "description": "Words that a text of the row contains."},
        "aggregate": {
            "type": "object",
            "description": "Totals instead of rows: count, sum, avg, min, max, median, p90.",
            **_example(definition, "aggregate", lambda name: {"groupBy": [name], "metrics": [{"op": "count"}]}),
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": policy.max_page_size,
            **({} if definition.fills_pages else {"default": policy.default_page_size}),
            "description": f"Rows per page{'; unset: as many as fit' if definition.fills_pages else ''}.",
        },
        "cursor": _CURSOR,
        "pages": {"type": "string", "description": "Several pages, e.g. 1-3."},
        "fields": _fields(definition, "Fields of each row"),
        "format": {
            "type": "string",
            "enum": [*FORMATS, HANDLE],
            "description": "handle: no rows, for SQL.",
        },
    }


def _record_parameters(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
    return {"fields": _fields(definition, "Fields or sections"), "cursor": _CURSOR, "format": _HANDLE}


def _text_parameters(definition: ToolDefinition, policy: Policy) -> dict[str, Any]:
    return {
        SEARCH: {"type": "string", "description": "Only the lines that contain these words."},
        "startLine": {"type": "integer", "minimum": 1, "description": "First line of a range, from 1."},
        "endLine": {"type": "integer", "minimum": 1, "description": "Last line of it, inclusive."},
        "cursor": _CURSOR,
        "format": _HANDLE,
    }


def _fields(definition: ToolDefinition, what: str) -> dict[str, Any]:
    return {
        "type": "string",
        "description": f"{what}, separated by commas; dotted paths; or all.",
        **({"examples": [",".join(definition.field_names[:MOST_NAMES])]} if definition.field_names else {}),
    }


def _example(definition: ToolDefinition, argument: str, of_field: Callable[[str], Any]) -> dict[str, Any]:
    """The declared example, or one that is valid for a field of any type; none if no field is known."""
    if argument in definition.examples:
        return {"examples": [definition.examples[argument]]}
    return {"examples": [of_field(definition.field_names[0])]} if definition.field_names else {}


_HANDLE = {"type": "string", "enum": [HANDLE], "description": "No data, only a handle for SQL."}
_CURSOR = {"type": "string", "description": "nextCursor of the answer before."}

FORM_PARAMETERS: Mapping[Kind, Callable[[ToolDefinition, Policy], dict[str, Any]]] = {
    Kind.LIST: _list_parameters,
    Kind.RECORD: _record_parameters,
    Kind.TEXT: _text_parameters,
    Kind.ACTION: lambda definition, policy: {"cursor": _CURSOR, "format": _HANDLE},
}
