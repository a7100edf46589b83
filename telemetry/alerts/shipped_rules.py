"""The alert rules and the channel that Sluice ships. They are created after a migration; then ops own them."""

from typing import Any

from django.apps import apps as installed
from django.apps.registry import Apps

from telemetry.alert_kinds import KINDS, KindDeclaration, RuleKind

EMAIL_CHANNEL = "Operators"  # sends to the addresses in ALERT_EMAILS


def create(using: str = "default", apps: Apps | None = None, **_: Any) -> None:
    """A receiver of post_migrate. It never changes existing rules and channels, because ops may have edited them."""
    registry = apps or installed
    try:
        rule_model, channel_model = (
            registry.get_model("telemetry", "AlertRule"),
            registry.get_model("telemetry", "Channel"),
        )
    except LookupError:  # migrated to a state before alert rules
        return
    channel, _created = channel_model.objects.using(using).get_or_create(
        name=EMAIL_CHANNEL, defaults={"kind": "email", "follows_settings": True}
    )
    for code, kind in KINDS.items():
        rule, is_new = rule_model.objects.using(using).get_or_create(
            shipped_as=code.value, defaults=defaults(code, kind)
        )
        if is_new:
            rule.channels.add(channel)


def defaults(code: RuleKind, kind: KindDeclaration) -> dict[str, Any]:
    """The fields of the shipped rule of this kind."""
    return {
        **condition_fields(kind),
        "kind": code.value,
        "name": kind.title,
        "is_enabled": kind.is_shipped_on,
        "follows_settings": code is RuleKind.OVERSIZED,
    }


def condition_fields(kind: KindDeclaration) -> dict[str, Any]:
    """The initial values of the form for a rule of this kind."""
    return {
        "per": kind.per[0].value,
        "origins": "sluice,upstream",
        "limit": kind.limit,
        "recovery_limit": kind.recovery,
        "minimum": kind.minimum,
        "window_seconds": kind.window,
        "pending_seconds": kind.pending,
        "recovery_seconds": kind.recovery_time,
        "no_data": kind.no_data.value,
    }
