"""Saves, removes and restores the budget of a scope, and reports in how many processes the change is in force, and
after what time."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from context_protection.configuration.revisions import revisions
from context_protection.core.policy import SETTINGS
from context_protection.core.scopes import BudgetScope
from context_protection.models import TokenBudget
from context_protection.reasons import give_reason
from gateway.staff.budgets.form import BudgetForm
from telemetry import processes, wording


@dataclass(frozen=True, slots=True)
class SavedBudget:
    """`version`: the history entry, which can be undone. `sentence`: what was done, and where it is in force."""

    version: int
    sentence: str


class Overtaken(Exception):
    """Another person has saved the budget since the page was opened. `version`: theirs; a history entry."""

    def __init__(self, version: Any) -> None:
        super().__init__(f"revision {version.pk}")
        self.version = version


def newest_version(scope: BudgetScope) -> Any | None:
    """The newest history entry of the scope's budget; None if it never had one."""
    return _versions(scope).first()


def _versions(scope: BudgetScope) -> Any:
    found = TokenBudget.history.filter(operation=scope.operation, connector=scope.connector, caller=scope.caller)
    return found.order_by("-history_id")


def save(form: BudgetForm, *, opened_at: int) -> SavedBudget:
    """Saves a checked form. `opened_at`: the newest version when the page was opened; 0 for none. Raises Overtaken."""
    began = time.perf_counter()
    with transaction.atomic():
        _check_newest(form.scope, opened_at)
        give_reason(form.instance, form.reason)
        form.save()
    return _saved(form.scope, "Saved", began)


def remove(scope: BudgetScope, reason: str, *, opened_at: int) -> SavedBudget:
    """Deletes the scope's budget: every value is inherited from then on. Raises Overtaken."""
    began = time.perf_counter()
    with transaction.atomic():
        _check_newest(scope, opened_at)
        _delete(scope, reason)
    return _saved(scope, "Removed", began)


def undo(scope: BudgetScope, version: int) -> SavedBudget:
    """Restores what the budget was before that version, which must be the newest. Raises Overtaken, and ValidationError
    if those values are no longer valid."""
    began = time.perf_counter()
    with transaction.atomic():
        _check_newest(scope, version)
        before = _versions(scope).filter(history_id__lt=version).first()
        _restore(scope, before, f"Undo of revision {version}")
    return _saved(scope, f"Revision {version} is undone. Saved", began)


def _restore(scope: BudgetScope, before: Any | None, reason: str) -> None:
    if before is None or before.history_type == "-":
        _delete(scope, reason)
        return
    budget = _stored(scope) or TokenBudget(operation=scope.operation, connector=scope.connector, caller=scope.caller)
    for name in SETTINGS:
        setattr(budget, name, getattr(before, name))
    budget.full_clean()
    give_reason(budget, reason)
    budget.save()


def _delete(scope: BudgetScope, reason: str) -> None:
    budget = _stored(scope)
    if budget is not None:
        give_reason(budget, reason)
        budget.delete()


def _stored(scope: BudgetScope) -> TokenBudget | None:
    rows = TokenBudget.objects.select_for_update()
    return rows.filter(operation=scope.operation, connector=scope.connector, caller=scope.caller).first()


def _check_newest(scope: BudgetScope, version: int) -> None:
    _stored(scope)  # locks the row
    newest = newest_version(scope)
    if newest is not None and newest.history_id != version:
        raise Overtaken(newest)


# -- In force in how many processes -----------------------------------------------------------------


def _saved(scope: BudgetScope, verb: str, began: float) -> SavedBudget:
    """`began`: time.perf_counter() before the save. The commit returns after the change was announced."""
    took = wording.milliseconds((time.perf_counter() - began) * 1000)
    version = newest_version(scope)
    assert version is not None, "a change of a budget is kept in its history"
    return SavedBudget(version.history_id, f"{verb} as revision {version.history_id}. {_reach_sentence(took)}")


def _reach_sentence(took: str) -> str:
    confirmed, listening = reach()
    words = f"In force in {confirmed} of {listening} processes after {took}."
    return words if confirmed == listening else f"{words} The others follow within a second."


def reach() -> tuple[int, int]:
    """How many processes use the newest revision, and how many there are. A revision in a file is read by the next call
    of each process; a shared one is confirmed by the processes that listen."""
    if revisions.confirmed is not None:
        return revisions.confirmed
    count = max(1, len(processes.alive()))
    return count, count


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The settings that differ: key, before, after."""

    def shown(name: str, value: Any) -> str:
        return "inherited" if value is None else SETTINGS[name].shown(value)

    return [
        (SETTINGS[name].canonical_name, shown(name, before.get(name)), shown(name, after.get(name)))
        for name in SETTINGS
        if before.get(name) != after.get(name)
    ]
