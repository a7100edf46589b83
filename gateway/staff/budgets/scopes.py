"""The address of a scope's page: /admin/budgets/list_bookings/, /nsip_*/, /connector:hostaway/, /*/ for all tools; and
?caller=ci-bot for one key."""

from urllib.parse import urlencode

from django.urls import reverse

from context_protection.core.scopes import ANY, Breadth, BudgetScope
from context_protection.layers.declarations import declared

CONNECTOR = "connector:"


def link_to(scope: BudgetScope) -> str:
    name = f"{CONNECTOR}{scope.connector}" if scope.connector else scope.operation or ANY
    page = reverse("budgets:budget", args=[name])
    return f"{page}?{urlencode({'caller': scope.caller})}" if scope.caller else page


def scope_at(name: str, caller: str) -> BudgetScope | None:
    """None if there is no such tool or connector, or if no key can have the name `caller`."""
    if "\0" in caller:  # Postgres stores no NUL
        return None
    if name == ANY:
        return BudgetScope(caller=caller)
    if name.startswith(CONNECTOR):
        connector = name.removeprefix(CONNECTOR)
        known = {each.connector for each in declared.values() if each.connector}
        return BudgetScope(connector=connector, caller=caller) if connector in known else None
    is_known = ANY in name or name in declared
    return BudgetScope(name, caller=caller) if is_known else None


def title_of(scope: BudgetScope) -> str:
    """All tools · list_bookings · nsip_* · connector hostaway · list_bookings for ci-bot"""
    match scope.breadth:
        case Breadth.ALL:
            words = "all tools"
        case Breadth.CONNECTOR:
            words = f"connector {scope.connector}"
        case _:
            words = scope.operation
    return f"{words} for {scope.caller}" if scope.caller else words


def covered(scope: BudgetScope) -> list[str]:
    """The tools that the scope covers."""
    return [name for name, each in declared.items() if scope.covers(name, each.connector, scope.caller)]
