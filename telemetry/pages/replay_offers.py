"""The offer to run a recorded call again: whether it is possible, the values to type, and the answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpRequest

from telemetry import facts, wording
from telemetry.measurement import CallOutcome, Measurement
from telemetry.pages import replays
from telemetry.pages.call_arguments import SEE_VALUES, Arguments

REPLAY = "telemetry.replay_call"


@dataclass(frozen=True, slots=True)
class Answer:
    """The tool's answer to the replay."""

    words: str
    body: str


@dataclass(frozen=True, slots=True)
class Offer:
    """`why_not`: why this call cannot be replayed; "" if it can. `asked`: the arguments to type, because their values
    are masked or not stored. `problem`: what is wrong with the typed values."""

    why_not: str
    question: str = ""
    asked: tuple[str, ...] = ()
    typed: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    answer: Answer | None = None

    @property
    def inputs(self) -> list[tuple[str, str]]:
        return [(name, self.typed.get(name, "")) for name in self.asked]


def offer(request: HttpRequest, call: Measurement, arguments: Arguments) -> Offer | None:
    """None if this application cannot replay calls, or the user may not."""
    if replays.registered() is None or not request.user.has_perm(REPLAY) or not request.user.has_perm(SEE_VALUES):
        return None
    tool = facts.tools.get(call.operation)
    if tool is None:
        return Offer(f"{call.operation} is not in the catalogue now, so it cannot be replayed.")
    if not tool.is_reading:
        return Offer(
            f"{call.operation} changes data in {_place(call)}, so it is never replayed. You can copy the call."
        )
    question = (
        f"Run {call.operation} again? It reads from {_place(call)} and counts against its rate limit. "
        "Only you see the result."
    )
    known = arguments.values or {}
    asked = tuple(each.name for each in arguments.arguments if each.name in arguments.masked or each.name not in known)
    return Offer("", question, asked)


def _place(call: Measurement) -> str:
    return call.upstream or "Sluice's own store"


def run_again(request: HttpRequest, call: Measurement, arguments: Arguments, offered: Offer) -> Offer:
    typed = {name: request.POST.get(f"argument-{name}", "").strip() for name in offered.asked}
    try:
        values = {**(arguments.values or {}), **{name: read(text) for name, text in typed.items() if text}}
    except ValueError as error:
        return Offer("", offered.question, offered.asked, typed, str(error))
    if missing := [name for name in offered.asked if name in arguments.masked and not typed[name]]:
        said = f"{', '.join(missing)}: hidden in the record. Type a value, or null to leave it out."
        return Offer("", offered.question, offered.asked, typed, said)
    run = replays.registered()
    assert run is not None
    given = {name: value for name, value in values.items() if value is not None}
    found = run(call.operation, given, call.caller)
    result = "failed" if found.outcome == CallOutcome.ERROR else "answered"
    words = f"Now it {result}: {wording.plural(found.tokens, 'token')} in {wording.milliseconds(found.latency_ms)}."
    return Offer("", offered.question, offered.asked, typed, "", Answer(words, found.body))


def read(text: str) -> Any:
    """A typed value: JSON if it begins like JSON, else the text itself. Raises ValueError for invalid JSON."""
    if text[:1] not in '{["' and text not in ("true", "false", "null") and not text.lstrip("-").isdecimal():
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError(f"{text[:40]} is not JSON. Expected a text, a number, or JSON.") from None
