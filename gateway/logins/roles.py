"""The roles of staff: groups that exist after `migrate`, with the permissions that are declared here.

Each `migrate` resets the permissions of these four groups. For other combinations, create a group with another name,
which is not changed here. A person may be in several groups. A test fails for a model of the admin that no role may see
or change, so that each new model requires a decision. docs/operators.md says what each role may do.
"""

from collections.abc import Mapping
from typing import Any

from django.apps import apps as installed
from django.apps.registry import Apps


def _may(verbs: str, app: str, models: str) -> frozenset[str]:
    return frozenset(f"{app}.{verb}_{model}" for verb in verbs.split() for model in models.split())


# Sees everything except people, sign-ins, and the values of arguments.
VIEWER = frozenset().union(
    _may("view", "access", "apikey connectorswitch toolset"),
    _may("view", "codebase", "project"),
    _may("view", "context_protection", "tokenbudget"),
    _may("view", "hostaway", "syncstate webhookevent"),
    _may("view", "mcp_servers", "mcpserver mcptool"),
    _may("view", "openapi", "importedapi importedoperation"),
    _may("view", "telemetry", "alert channel event kepttool rejectedkey telemetryrecord tokenaudit withheldfield"),
    _may("view", "experiments", "experiment"),
    _may("view", "rollouts", "rollout"),
    _may("view", "upstreams", "upstreamapi"),
)
# Also sees the masked values of calls, runs tools, and manages experiments.
ENGINEER = VIEWER.union(
    _may("add change delete", "experiments", "experiment"),
    _may("add change delete", "telemetry", "kepttool"),
    {"telemetry.view_callarguments", "telemetry.replay_call", "telemetry.run_writing_tool"},
)
# Runs the service: budgets, tools, keys, connections without their credentials, alerts.
OPS = VIEWER.union(
    _may("add change delete", "access", "apikey toolset"),
    _may("change", "access", "connectorswitch"),
    _may("add change delete", "codebase", "project"),
    _may("add change delete", "context_protection", "tokenbudget"),
    _may("change", "hostaway", "syncstate webhookevent"),
    _may("change", "mcp_servers", "mcpserver mcptool"),
    _may("change", "openapi", "importedoperation"),
    _may("add change delete", "telemetry", "channel"),
    _may("change", "telemetry", "alertrule"),
    _may("add change delete", "rollouts", "rollout"),
    _may("change", "upstreams", "upstreamapi"),
)
ADMIN = "admin"  # has every permission, including those for people and for credentials of upstreams
ROLES: Mapping[str, frozenset[str]] = {"viewer": VIEWER, "engineer": ENGINEER, "ops": OPS}


def create(using: str = "default", apps: Apps | None = None, **_: Any) -> None:
    """A receiver of post_migrate, connected for the last app, when the permissions of all apps exist. Writes only what
    differs."""
    registry = apps or installed
    try:
        groups, permissions = (
            registry.get_model("auth", name)._default_manager.using(using) for name in ("Group", "Permission")
        )
    except LookupError:  # migrated to a state before groups
        return
    known = {
        f"{app}.{codename}": key
        for app, codename, key in permissions.values_list("content_type__app_label", "codename", "pk")
    }
    for name, labels in {**ROLES, ADMIN: frozenset(known)}.items():
        group: Any = groups.get_or_create(name=name)[0]
        wanted = {known[label] for label in labels if label in known}
        if wanted != set(group.permissions.values_list("pk", flat=True)):
            group.permissions.set(wanted)
