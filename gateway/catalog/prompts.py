"""Prompts: common tasks that users pick in their client. Each is one message that says which operations to call with
which arguments, what to check, and how to report. Also completes arguments while they are typed."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument, nearest
from gateway.catalog.catalog import catalogue

# Takes the typed text and the arguments already given, and returns values that complete it: current values of the
# account without personal data, in a stable order, at most MAX_COUNTED + 1. Blocks.
Complete = Callable[[str, Mapping[str, str]], Sequence[str]]
MAX_COUNTED = 1000
LONGEST_ARGUMENT = 200  # characters


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """`read` takes the argument's name and text and returns its value, or raises InvalidArgument; it may block. An
    argument without `default` is required."""

    name: str
    title: str
    description: str
    read: Callable[[str, str], Any]
    complete: Complete | None = None
    default: Callable[[], str] | None = None
    longest: int = LONGEST_ARGUMENT  # characters

    @property
    def is_required(self) -> bool:
        return self.default is None

    def value(self, given: str | None) -> Any:
        """Raises InvalidArgument."""
        text = (given or "").strip()  # clients send an empty string for a field that was left empty
        if not text:
            if self.default is None:
                raise self._missing()
            text = self.default()
        if len(text) > self.longest:
            raise self._unreadable(text, f"{self.name} is too long.", f"Shorten {self.name}.")
        if not is_storable(text):
            advice = f"Remove the NUL or lone surrogate from {self.name}."
            raise self._unreadable(text, f"{self.name} contains an invalid character.", advice)
        return self.read(self.name, text)

    def _missing(self) -> InvalidArgument:
        return InvalidArgument(
            f"{self.name} is missing.",
            reason="missing_argument",
            parameter=self.name,
            expected=self.description,
            suggestion=f"Get the prompt again with {self.name}.",
        )

    def _unreadable(self, text: str, message: str, suggestion: str) -> InvalidArgument:
        return InvalidArgument(
            message,
            reason="invalid_value",
            parameter=self.name,
            value=text,
            expected=f"a text of at most {self.longest} characters, without NUL or lone surrogates",
            suggestion=suggestion,
        )


@dataclass(frozen=True, eq=False)
class Prompt:
    """One task. `operations`: those that the prompt calls, and those whose records its arguments name; a key that does
    not see all of them does not see the prompt. `write` gets the argument values by name and returns the message."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    operations: tuple[str, ...]
    write: "Callable[..., PromptMessage]"

    def message(self, given: Mapping[str, str]) -> "PromptMessage":
        """The message with these arguments. Blocks. Raises InvalidArgument for the first wrong argument."""
        for name in given:
            self.argument(name)
        return self.write(**{argument.name: argument.value(given.get(argument.name)) for argument in self.arguments})

    def argument(self, name: str) -> PromptArgument:
        """Raises InvalidArgument."""
        for argument in self.arguments:
            if argument.name == name:
                return argument
        names = [argument.name for argument in self.arguments]
        close = nearest(name, names)
        raise InvalidArgument(
            f"{self.name} has no argument {name[:80]!r}.",
            reason="unknown_argument",
            parameter="argument",
            value=name,
            expected=f"only: {', '.join(names)}",
            suggestion=f"Did you mean {close}?" if close else f"Leave {name[:80]} out.",
        )


def is_storable(text: str) -> bool:
    """Whether a database can compare the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


@dataclass(frozen=True, slots=True)
class QuotedCall:
    """A call that a message asks for."""

    operation: str
    arguments: Mapping[str, Any]


# Writes a call as the client makes it: {"tool": "list_bookings", "arguments": {…}}.
Quote = Callable[[QuotedCall], Mapping[str, Any]]


def by_name(quoted: QuotedCall) -> Mapping[str, Any]:
    return {"tool": quoted.operation, "arguments": quoted.arguments}


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message in the common form: the task, the numbered calls in order, what to check, how to report. `of_handle`:
    the first call is made only for its handle, so its later pages are not read."""

    task: str
    calls: Sequence[QuotedCall]
    check: str
    report: str
    of_handle: bool = False

    def text(self, quote: Quote = by_name) -> str:
        made = [quote(each) for each in self.calls]
        lines = [f"{each['tool']} {dumps(each['arguments']).decode()}" for each in made]  # each always on one line
        numbered = "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
        pages = (
            "the first for its handle: do not page on from it"
            if self.of_handle
            else "follow nextCursor where there is one"
        )
        calling = f"Call these tools with just these arguments; {pages}:\n{numbered}"
        return f"{self.task}\n\n{calling}\n\nCheck: {self.check}\n\nReport: {self.report}"


def call(operation: str, **arguments: Any) -> QuotedCall:
    return QuotedCall(operation, arguments)


class Prompts:
    """Prompts by name, in the order in which they were offered, and the completion of each operation's `id`."""

    def __init__(self) -> None:
        self._prompts: dict[str, Prompt] = {}
        self._identifiers: dict[str, Complete] = {}

    def offer(self, prompts: Iterable[Prompt], identifiers: Mapping[str, Complete]) -> None:
        self._prompts.update((prompt.name, prompt) for prompt in prompts)
        self._identifiers.update(identifiers)

    def __iter__(self) -> Iterator[Prompt]:
        return iter(self._prompts.values())

    def visible(self, hidden: Container[str]) -> dict[str, Prompt]:
        """Name → prompt, for the prompts whose operations all exist and are not hidden."""
        return {each.name: each for each in self if all(catalogue.find(name, hidden) for name in each.operations)}

    def get(self, name: str, hidden: Container[str] = ()) -> Prompt:
        """Raises InvalidArgument if the prompt is hidden or does not exist."""
        visible = self.visible(hidden)
        if name not in visible:
            close = nearest(name, visible, cutoff=0.4)
            raise InvalidArgument(
                f"There is no prompt {name[:80]!r}.",
                reason="unknown_prompt",
                parameter="name",
                value=name,
                expected=f"one of: {', '.join(visible)}",
                suggestion=f"Did you mean {close}?" if close else "List the prompts, and get one of them.",
            )
        return visible[name]

    def identifiers_of(self, operation: str) -> Complete | None:
        return self._identifiers.get(operation)


prompts = Prompts()
