"""Turns a budget's new values into a rollout, so that some callers get them first."""

from urllib.parse import urlencode

from django.urls import reverse

from context_protection.core.policy import SETTINGS
from gateway.staff.budgets import scopes
from gateway.staff.budgets.form import BudgetForm

ADD_ROLLOUT = "rollouts.add_rollout"


def new_rollout(form: BudgetForm) -> str:
    """The link to the form of a new rollout, filled in with the values that differ from the saved ones. "" if a rollout
    of them is not possible: the form then says why."""
    if not form.has_valid_values:
        return ""
    changed = {name: value for name, value in form.values.items() if value != form.stored.get(name)}
    if problem := _problem(form, list(changed), [name for name in changed if changed[name] is None]):
        form.add_error(None, problem)
        return ""
    chosen = {"operations": _operations(form), "reason": form.reason}
    return f"{reverse('rollouts:new')}?{urlencode({**{k: v for k, v in chosen.items() if v}, **changed})}"


def _problem(form: BudgetForm, changed: list[str], emptied: list[str]) -> str:
    if form.scope.caller:
        return "A budget of one key cannot be rolled out to others. Open the budget of all keys."
    if not changed:
        return "Nothing to roll out: these values are already saved. Type a new value first."
    if emptied:
        return f"A rollout can set values, but not remove them. Fill in: {_keys(emptied)}."
    if fixed := [name for name in changed if not SETTINGS[name].is_for_trials]:
        of_whole = "which belong to one tool or to a whole connector"
        return f"A rollout cannot have {_keys(fixed)}, {of_whole}. Save them here, or leave them out."
    return ""


def _keys(names: list[str]) -> str:
    return ", ".join(SETTINGS[name].canonical_name for name in names)


def _operations(form: BudgetForm) -> str:
    """The tools as a rollout names them: those of a connector one by one; "" for all tools."""
    scope = form.scope
    return ", ".join(scopes.covered(scope)) if scope.connector else scope.operation
