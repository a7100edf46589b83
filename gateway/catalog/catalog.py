"""The catalogue: every operation that can be called, whatever the door."""

import difflib
import inspect
import logging
import math
import threading
import time
from collections.abc import Awaitable, Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from context_protection.configuration import budgets
from context_protection.configuration.revisions import revisions
from context_protection.core.cached_property import cached_property
from context_protection.core.errors import UnknownOperation, nearest
from context_protection.core.payloads import Payload
from context_protection.core.policy import Kind, Policy
from context_protection.core.redaction import is_secret
from context_protection.core.shapes import ANY, Shape
from gateway.access.callers import Caller

DESCRIBE_TOOL = "describe_tool"  # the tool that has all of another's definition
logger = logging.getLogger(__name__)


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


MOST_NAMED = 40  # operations that an error names
AGAIN_SECONDS = 1.0  # after which a source that has failed is asked again
LONGEST_NAME = 80  # characters of a name that is compared with others


Source = Callable[[], Sequence[Operation]]


class Catalogue:
    """Operations by name, in the order in which they were offered; those of sources, which change with the
    configuration, after those that do not. A name that is taken stays with who has it."""

    def __init__(self) -> None:
        self._fixed: dict[str, Operation] = {}
        self._sources: list[Source] = []
        self._sourced: list[Sequence[Operation]] = []  # by each source, when it was asked last
        self._operations: dict[str, Operation] = {}
        self._revision: int | None = None
        self._again_at = math.inf  # time.monotonic(): a source has failed, and is asked once more
        self._lock = threading.Lock()

    def offer(self, operations: Iterable[Operation]) -> None:
        """Operations that are there until they are withdrawn."""
        with self._lock:
            self._fixed.update((operation.name, operation) for operation in operations)
            self._merge()

    def withdraw(self, name: str) -> None:
        """Takes an offered operation out, if it is there."""
        with self._lock:
            self._fixed.pop(name, None)
            self._merge()

    def follow(self, source: Source) -> None:
        """Operations that are there for as long as `source` gives them: it is asked on a thread, whenever the
        configuration has changed. Those that have not changed are the same objects."""
        with self._lock:
            self._sources.append(source)
            self._revision = None

    @property
    def is_current(self) -> bool:
        """Whether `refresh` has nothing to do."""
        return revisions.current() == self._revision and time.monotonic() < self._again_at

    def refresh(self) -> None:
        """Sees to it that what sources offer now is here. Blocks where the configuration has changed."""
        if self.is_current:
            return
        with self._lock:
            if self.is_current:
                return
            revision = revisions.current()
            before = [*self._sourced, *[None] * len(self._sources)]
            asked = [_asked(source) for source in self._sources]
            self._sourced = [last or () if now is None else now for now, last in zip(asked, before, strict=False)]
            self._merge()
            self._revision = revision
            self._again_at = time.monotonic() + AGAIN_SECONDS if None in asked else math.inf

    def _merge(self) -> None:
        operations = dict(self._fixed)
        for operation in (each for every in self._sourced for each in every):
            if operations.setdefault(operation.name, operation) is not operation:
                logger.warning("the name of an operation is taken", extra={"operation": operation.name})
        for name in self._operations.keys() - operations.keys():
            budgets.withdraw(name)
        for operation in operations.values():
            budgets.declare(operation.name, operation.kind, operation.settings)
        self._operations = operations

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


def _asked(source: Source) -> Sequence[Operation] | None:
    """What the source offers now. None: it has failed, which costs nobody else's operations, nor its own of before
    (law 5)."""
    try:
        return source()
    except Exception:
        logger.exception("operations not read; those of before stay")
        return None


def _expected(name: str, visible: Sequence[str]) -> str:
    """All names; where they are many, those that are likely meant."""
    if len(visible) <= MOST_NAMED:
        return f"one of: {', '.join(visible)}"
    close = difflib.get_close_matches(name[:LONGEST_NAME], visible, n=5, cutoff=0.3)
    return f"one of {len(visible)} names, which search_tools finds" + (f": {', '.join(close)} …" if close else "")


catalogue = Catalogue()
