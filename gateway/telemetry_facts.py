"""The facts about tools, keys and upstreams that the pages at /telemetry/ show."""

from collections.abc import Mapping

from django.urls import reverse

from context_protection.core import field_selection
from context_protection.core.policy import Kind, Policy
from context_protection.core.scopes import BudgetScope
from gateway.access.models import ApiKey
from gateway.catalog.operation import Operation
from gateway.dispatch.configuration import Configuration, current
from gateway.mcp.tools import definition
from gateway.staff.budgets.scopes import link_to
from gateway.upstreams.models import UpstreamApi
from gateway.upstreams.registry import upstreams
from telemetry import facts


def provide() -> None:
    facts.tools.provide(tools)
    facts.keys.provide(keys)
    facts.upstreams.provide(of_upstreams)


def tools() -> Mapping[str, facts.ToolFacts]:
    """The tools that exist now. Blocks."""
    configuration = current()
    return {operation.name: _tool(operation, configuration) for operation in configuration.operations}


def _tool(operation: Operation, configuration: Configuration) -> facts.ToolFacts:
    policy = configuration.policy(operation.name)
    return facts.ToolFacts(
        name=operation.name,
        is_reading=operation.kind is not Kind.ACTION,
        is_listed=operation.listed,
        tokens=definition(operation, policy).tokens,
        budget=policy.token_budget_threshold,
        hard_cap=policy.hard_cap,
        edit=link_to(BudgetScope(operation.name)),
        opened_by=operation.record_operation or "",
        short_fields=_short_fields(operation, policy),
    )


def _short_fields(operation: Operation, policy: Policy) -> tuple[str, ...]:
    """The fields that ops chose, or else those that the operation's type declares."""
    chosen = field_selection.names_in(policy.summary_fields)
    return tuple(chosen or operation.shape.canonical or (operation.field_names if operation.kind is Kind.LIST else ()))


def keys() -> Mapping[str, facts.KeyFacts]:
    return {
        key.name: facts.KeyFacts(
            name=key.name,
            created_at=key.created_at,
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            hidden_tools=tuple(key.hidden_tools),
            edit=reverse("admin:access_apikey_change", args=(key.pk,)),
        )
        for key in ApiKey.objects.all()
    }


def of_upstreams() -> Mapping[str, facts.UpstreamFacts]:
    """The upstreams that this process has, and those that ops have switched off."""
    managed = {each.name: each for each in UpstreamApi.objects.all()}
    names = {*managed, *(each.name for each in upstreams.all())}
    return {
        name: facts.UpstreamFacts(
            name, reverse("admin:upstreams_upstreamapi_change", args=(managed[name].pk,)) if name in managed else ""
        )
        for name in names
    }
