"""The page of the playground."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from context_protection.configuration import policies
from context_protection.core.policy import SETTINGS, Kind, problems
from context_protection.core.scopes import BudgetScope
from context_protection.layers.budgets import Budgets
from gateway.catalog.caller import Caller
from gateway.catalog.catalog import catalogue
from gateway.catalog.operation import Operation
from gateway.replay import caller_for_staff
from gateway.staff.budgets.scopes import link_to
from gateway.staff.playground.argument_form import AS_JSON, ArgumentField, UnreadableArguments, fields_of, read
from gateway.staff.playground.run import PlaygroundRun, run
from telemetry import access, facts
from telemetry.pages.address import Address
from telemetry.pages.call_arguments import SEE_VALUES, Argument, Arguments
from telemetry.pages.call_copies import copies
from telemetry.pages.replay_offers import REPLAY
from telemetry.pages.shell import page, show

WRITE = "telemetry.run_writing_tool"
ONCE = "playground_once"  # session key; a confirmation runs its call only once
DRAFT = ("token_budget_threshold", "hard_cap", "default_page_size")
CONFIRM = "confirm"  # the button that runs a call which changes data


@dataclass(frozen=True, slots=True)
class DraftField:
    """A value of the draft budget. `in_force`: what applies without it."""

    name: str
    label: str
    in_force: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a submitted form. `arguments`: None if they could not be read. `asks`: the question before a call
    that changes data. `result`: None if nothing was run."""

    arguments: Mapping[str, Any] | None = None
    problem: str = ""
    asks: str = ""
    result: PlaygroundRun | None = None


@page(needs=REPLAY)
@require_http_methods(["GET", "HEAD", "POST"])
def playground(request: HttpRequest, address: Address) -> HttpResponseBase:
    if refused := access.refusal(request, SEE_VALUES):
        return refused
    given = request.POST if request.method == "POST" else request.GET
    named = given.get("tool", "")
    found = catalogue.find(named)
    operation = found or next(iter(catalogue))
    caller, in_force = caller_for_staff(given.get("key", "")), policies.budgets()
    fields = fields_of(operation, in_force.policy(operation.name, caller.name), given)
    draft, problem = _draft(given, operation, caller, in_force)
    if named and found is None:
        problem = f"There is no tool {named[:100]}, so nothing was run. Choose one."
    trial = Trial(problem=problem)
    if request.method == "POST" and not problem:
        if operation.kind is Kind.ACTION and (refused := access.refusal(request, WRITE)):
            return refused
        trial = _tried(request, operation, fields, caller, draft)
    return show(
        request,
        address,
        "playground/playground.html",
        title="Playground",
        sentence="Calls are recorded as transport playground, outside all figures.",
        has_comparison=False,
        has_recorder_notes=False,
        tools=sorted(each.name for each in catalogue),
        operation=operation,
        acts=operation.kind is Kind.ACTION,
        keys=sorted(facts.keys.all()),
        key=given.get("key", ""),
        fields=fields,
        as_json=given.get(AS_JSON, ""),
        is_draft=draft is not None,
        draft=_draft_fields(given, operation, in_force, caller),
        trial=trial,
        result=trial.result,
        once=_once(request) if trial.asks else "",
        copies=_copies(request, operation, trial.arguments) if trial.arguments is not None else None,
        budget_link=_budget_link(operation, given),
        record_link=reverse("telemetry:call", args=[trial.result.request_id]) if trial.result else "",
        this=reverse("playground:playground"),
        status=422 if trial.problem else 200,
    )


def _tried(
    request: HttpRequest, operation: Operation, fields: Sequence[ArgumentField], caller: Caller, draft: Budgets | None
) -> Trial:
    """Runs a reading tool at once, and one that changes data after a confirmation."""
    try:
        arguments = read(fields, request.POST)
    except UnreadableArguments as error:
        return Trial(problem=str(error))
    if operation.kind is Kind.ACTION and request.POST.get("do") != CONFIRM:
        where = catalogue.connector_of(operation.name) or "Sluice"
        return Trial(arguments, asks=f"This changes data in {where}. Run once?")
    if operation.kind is Kind.ACTION and not _is_first(request):
        return Trial(arguments, "This confirmation was used already, so nothing was run. Look at the recorded calls.")
    return Trial(arguments, result=run(operation.name, arguments, caller, draft))


# -- The draft budget -------------------------------------------------------------------------------


def _draft(
    given: Mapping[str, Any], operation: Operation, caller: Caller, in_force: Budgets
) -> tuple[Budgets | None, str]:
    """The budgets in which the draft's values override all others (None without a draft), and what is wrong with the
    values."""
    texts = {name: str(given.get(f"draft-{name}", "")).strip() for name in DRAFT}
    if given.get("budget") != "draft" or not any(texts.values()):
        return None, ""
    values: dict[str, Any] = {name: int(text) if text.isdecimal() else text for name, text in texts.items() if text}
    for name, value in values.items():
        if wrong := SETTINGS[name].problem(value):
            return None, wrong.sentence
    scope = BudgetScope(operation.name, caller=caller.name)
    drafted = in_force.with_budget(scope, {**in_force.admin.get(scope, {}), **values})
    if found := problems(drafted.policy(operation.name, caller.name)):
        return None, found[0].sentence
    return drafted, ""


def _draft_fields(
    given: Mapping[str, Any], operation: Operation, in_force: Budgets, caller: Caller
) -> list[DraftField]:
    policy = in_force.policy(operation.name, caller.name)
    labels = {"token_budget_threshold": "Budget", "hard_cap": "Hard cap", "default_page_size": "Rows a page"}
    return [
        DraftField(name, labels[name], SETTINGS[name].shown(getattr(policy, name)), str(given.get(f"draft-{name}", "")))
        for name in DRAFT
        if name != "default_page_size" or operation.kind is Kind.LIST
    ]


def _budget_link(operation: Operation, given: Mapping[str, Any]) -> str:
    """The page of the tool's budget, with the draft's values filled in."""
    values = [f"{name}={text}" for name in DRAFT if (text := str(given.get(f"draft-{name}", ""))).isdecimal()]
    link = link_to(BudgetScope(operation.name))
    return f"{link}?{'&'.join(values)}" if values else link


# -- A write runs once ------------------------------------------------------------------------------


def _once(request: HttpRequest) -> str:
    request.session[ONCE] = str(uuid4())
    return str(request.session[ONCE])


def _is_first(request: HttpRequest) -> bool:
    return bool(request.POST.get("once")) and request.session.pop(ONCE, "") == request.POST.get("once")


def _copies(request: HttpRequest, operation: Operation, arguments: Mapping[str, Any]) -> Any:
    named = tuple(Argument(name, json.dumps(value, ensure_ascii=False)) for name, value in arguments.items())
    of_call = Arguments(named, arguments, (), "", "")
    return copies(operation.name, of_call, request.build_absolute_uri("/").rstrip("/"))
