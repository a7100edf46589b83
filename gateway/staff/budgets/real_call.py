"""A real call on the page of a budget: a recorded one or a pasted response, answered under both budgets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils import timezone

from context_protection.core.errors import CallError
from context_protection.core.scopes import Breadth, BudgetScope
from context_protection.layers.budgets import Budgets
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.staff.preview import sources
from gateway.staff.preview.answers import Comparison, PreviewSource, compared
from gateway.staff.preview.recorded_calls import RecordedCall, recorded_call, recorded_calls, source_of
from telemetry import wording
from telemetry.pages.call_arguments import SEE_VALUES
from telemetry.pages.replay_offers import REPLAY

READ = "read"  # the button that lets an upstream be called


@dataclass(frozen=True, slots=True)
class CallChoice:
    value: str
    label: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class RealCall:
    """`comparison`: None before a call is chosen. `may_see`: also the text of the answers, not only the figures.
    `note`: why no call is offered, or why there is no text. `may_read`: the chosen call needs a request to its
    upstream, which this person may send."""

    choices: Sequence[CallChoice]
    pasted: str = ""
    may_see: bool = False
    comparison: Comparison | None = None
    note: str = ""
    problem: str = ""
    may_read: bool = False


def real_call(request: HttpRequest, scope: BudgetScope, now: Budgets, new: Budgets) -> RealCall | None:
    """None unless the scope is one tool of the catalogue. Blocks."""
    operation = catalogue.find(scope.operation) if scope.breadth is Breadth.OPERATION else None
    if operation is None:
        return None
    may_see = request.user.has_perm(SEE_VALUES)
    chosen, text = request.POST.get("call", ""), request.POST.get("response", "")
    calls = recorded_calls(operation, may_see_values=may_see)
    choices = [CallChoice(each.request_id, _label(each), each.request_id == chosen) for each in calls]
    shown = RealCall(choices, text, may_see or bool(text.strip()), note=_note(choices, may_see=may_see))
    if not chosen and not text.strip():
        return shown
    try:
        source = _source(request, operation, chosen, text)
    except CallError as error:
        return replace(shown, problem=f"{error.message} {error.suggestion}")
    except _NotRead as refused:
        return replace(shown, problem=str(refused), may_read=refused.may_read)
    policies = now.policy(operation.name, scope.caller), new.policy(operation.name, scope.caller)
    return replace(shown, comparison=compared(source, *policies))


class _NotRead(Exception):
    def __init__(self, words: str, *, may_read: bool = False) -> None:
        super().__init__(words)
        self.may_read = may_read


def _source(request: HttpRequest, operation: Operation, chosen: str, text: str) -> PreviewSource:
    """Raises CallError, _NotRead."""
    if text.strip():
        return sources.pasted(operation, text)
    call = recorded_call(operation, chosen, may_see_values=False) if chosen else None
    if call is None:
        raise _NotRead("Neither the answer nor the arguments of that call are stored any more. Choose another one.")
    if call.needs_upstream and request.POST.get("do") != READ:
        may_read = request.user.has_perm(REPLAY)
        who = "" if may_read else f" That needs the permission {REPLAY}."
        raise _NotRead(
            "The answer of that call is not stored. Reading it again counts against the upstream's rate limit." + who,
            may_read=may_read,
        )
    if call.needs_upstream and not request.user.has_perm(REPLAY):
        raise _NotRead(f"Reading a call again from its upstream needs the permission {REPLAY}.")
    source = source_of(operation, call)
    if source is None:
        raise _NotRead("The snapshot of that call has expired just now. Choose another one.")
    return source


def _label(call: RecordedCall) -> str:
    """12:31 ci-bot, limit=200"""
    given = ", ".join(f"{name}={value}" for name, value in call.shown.items())
    words = given or ", ".join(call.names)
    where = ", reads from the upstream again" if call.needs_upstream else ""
    return (
        f"{wording.clock(call.at, timezone.now())} {call.caller or '(no key)'}, {words[:80] or 'no arguments'}{where}"
    )


def _note(choices: Sequence[CallChoice], *, may_see: bool) -> str:
    if not choices:
        return "No call of this tool has its answer or its arguments stored. You can paste a response."
    if not may_see:
        return f"Values of recorded calls and the text of their answers need the permission {SEE_VALUES}."
    return ""
