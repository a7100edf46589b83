"""Records each change of the configuration as an event: which field, from what to what, by whom. Secrets are said to
have changed, and never shown."""

import logging
from typing import Any

from django.db import models, transaction
from django.db.models.signals import pre_save
from django.urls import NoReverseMatch, reverse
from simple_history.signals import post_create_historical_record

from context_protection.configuration.revisions import revisions
from context_protection.core.redaction import is_secret
from gateway.upstreams.failures import cleaned
from telemetry import events

CHANGED, EMPTY = "changed", "(empty)"
SECRET = "sealed_secret"  # noqa: S105 (a field's name)
LONGEST = 300  # characters of a value
# What people call an object of a model; others by the model's own name.
NAMES = {"tokenbudget": "budget", "apikey": "key", "upstreamapi": "upstream", "mcpserver": "upstream"}
COME_BY_THEMSELVES = frozenset({"connectorswitch", "importedoperation", "mcptool"})  # to add one is no event
UNTOLD = frozenset({"changed_at", "created_at"})

logger = logging.getLogger(__name__)


def follow() -> None:
    """Records from now on."""
    pre_save.connect(_note_secret, dispatch_uid="change-events-secret")
    post_create_historical_record.connect(_changed, dispatch_uid="change-events")


def _note_secret(sender: type[models.Model], instance: Any, **_: Any) -> None:
    """The history leaves secrets out, so whether one changes is seen before it is saved."""
    if instance.pk is not None and any(field.name == SECRET for field in sender._meta.fields):
        before = sender._default_manager.filter(pk=instance.pk).values_list(SECRET, flat=True).first()
        instance.secret_has_changed = before is not None and _bytes(before) != _bytes(getattr(instance, SECRET))


def _bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value or b"")


def _changed(instance: models.Model, history_instance: Any, history_user: Any = None, **_: Any) -> None:
    event: dict[str, Any] | None = _event(instance, history_instance)
    if event is not None:
        actor = history_user.get_username() if history_user else ""
        transaction.on_commit(lambda: _record(event, actor), robust=True)


def _record(event: dict[str, Any], actor: str) -> None:
    events.record(kind=events.Kind.CHANGE, actor=actor, revision=str(revisions.current()), **event)
    logger.info("configuration changed", extra={**event, "actor": actor})


def _event(instance: models.Model, history: Any) -> dict[str, Any] | None:
    """The event's fields; None if nothing has changed that is told."""
    model = instance._meta.model_name or ""
    name = str(instance)
    found = {"subject_type": NAMES.get(model, str(instance._meta.verbose_name)), "subject": name}
    if history.history_type != "~":
        if model in COME_BY_THEMSELVES:
            return None
        what = "added" if history.history_type == "+" else "deleted"
        return {**found, "summary": f"{name} was {what}.", "link": _link(instance, history)}
    changes = _changes(instance, history)
    if not changes:
        return None
    is_one = len(changes) == 1
    fields = ", ".join(label for label, _, _ in changes)
    return {
        **found,
        "summary": f"{name}: {fields} {'was' if is_one else 'were'} changed.",
        "before": changes[0][1] if is_one else "; ".join(f"{label}: {old}" for label, old, _ in changes),
        "after": changes[0][2] if is_one else "; ".join(f"{label}: {new}" for label, _, new in changes),
        "reason": history.history_change_reason or "",
        "link": _link(instance, history),
    }


def _changes(instance: Any, history: Any) -> list[tuple[str, str, str]]:
    """The label, the old and the new value of each field that has changed."""
    before = history.prev_record
    found = []
    if before is not None:
        for change in history.diff_against(before).changes:
            if change.field not in UNTOLD:
                label = str(instance._meta.get_field(change.field).verbose_name)
                found.append((label, *_told(change.field, change.old, change.new)))
    if getattr(instance, "secret_has_changed", False):
        found.append(("secret", "", CHANGED))
    return found


def _told(field: str, old: Any, new: Any) -> tuple[str, str]:
    return ("", CHANGED) if is_secret(field) else (_shown(old), _shown(new))


def _shown(value: Any) -> str:
    """A value without the secrets that may be in it, such as in an address."""
    return EMPTY if value in (None, "", [], {}) else cleaned(str(value), (), most=LONGEST)


def _link(instance: models.Model, history: Any) -> str:
    """The page of this version, if the admin has one."""
    meta = instance._meta
    try:
        address = f"admin:{meta.app_label}_{meta.model_name}_simple_history"
        return reverse(address, args=[instance.pk, history.pk])
    except NoReverseMatch:
        return ""
