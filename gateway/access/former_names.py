"""Renamed tools. Their old names stay callable for DAYS."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache

from django.db import transaction
from django.utils import timezone

from context_protection.configuration.revisions import bump_on_commit
from context_protection.models import TokenBudget
from gateway.access.models import ApiKey, FormerToolName, ToolSet
from gateway.catalog.operation import Operation

DAYS = 30  # how long an old name still reaches the tool
AT_ONCE = 200  # rows per statement


@transaction.atomic
def rename(names: Mapping[str, str]) -> None:
    """Stores the old names, and renames the tools in budgets, keys and tool sets. `names`: old name → new name."""
    until = timezone.now() + timedelta(days=DAYS)
    FormerToolName.objects.filter(until__lt=timezone.now()).delete()
    FormerToolName.objects.filter(former__in=names.values()).delete()  # renamed back
    followed = list(FormerToolName.objects.filter(current__in=names))
    for each in followed:
        each.current = names[each.current]
    FormerToolName.objects.bulk_update(followed, ["current"], batch_size=AT_ONCE)
    FormerToolName.objects.bulk_create(
        [FormerToolName(former=old, current=new, until=until) for old, new in names.items()],
        batch_size=AT_ONCE,
        update_conflicts=True,
        unique_fields=["former"],
        update_fields=["current", "until"],
    )
    _rename_in_settings(names)
    bump_on_commit()


def _rename_in_settings(names: Mapping[str, str]) -> None:
    budgets = {budget.scope: budget for budget in TokenBudget.objects.exclude(operation="")}
    for scope, budget in budgets.items():
        new = names.get(scope.operation)
        if new is not None and replace(scope, operation=new) not in budgets:
            budget.operation = new
            budget.save()
    for model, fields in ((ApiKey, ("allowed_tools", "hidden_tools", "pinned_tools")), (ToolSet, ("tools",))):
        for row in model._default_manager.all():
            before = [getattr(row, field) for field in fields]
            now = [[names.get(name, name) for name in tools] for tools in before]
            if now != before:
                for field, tools in zip(fields, now, strict=True):
                    setattr(row, field, tools)
                row.save()


def former_names() -> dict[str, tuple[str, ...]]:
    """Name of a tool → its old names that still reach it."""
    names: dict[str, tuple[str, ...]] = {}
    for former, current in FormerToolName.objects.filter(until__gte=timezone.now()).values_list("former", "current"):
        names[current] = (*names.get(current, ()), former)
    return names


@lru_cache(maxsize=4096)
def with_former(operation: Operation, former: tuple[str, ...]) -> Operation:
    """The operation with its old names. Cached, so that equal arguments give the same object."""
    return replace(operation, former_names=former) if former else operation
