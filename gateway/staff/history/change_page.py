"""The page of one change: before, after and now, its reason, its effect on calls, and a link to undo it."""

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from context_protection.configuration.changes import SECRETS, difference, value_in_words
from gateway.staff.history.change_list import CHANGES, SEE, row_of, sentence_of
from gateway.staff.history.effect import effect
from telemetry.models import Event
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.queries.selection import Selection

# How the calls that a change concerns are selected, by the kind of its object.
DIMENSION_OF = {"budget": "tool", "key": "key", "upstream": "upstream"}
GONE = "deleted"


@page(needs=SEE, default_range="7d")
@require_safe
def change(request: HttpRequest, address: Address, number: int) -> HttpResponseBase:
    event = get_object_or_404(Event, pk=number, kind__in=CHANGES)
    instance = _instance(event)
    row = row_of(event)
    return show(
        request,
        address,
        "history/change.html",
        title=f"{row.kind.capitalize()} {row.name}",
        sentence=sentence_of(event.summary, row),
        has_comparison=False,
        has_recorder_notes=False,
        event=event,
        row=row,
        differences=[
            (name.replace("_", " "), *map(value_in_words, (old, new, _now(instance, name))))
            for name, old, new in event.differences
        ],
        effect=guarded("Effect", lambda: effect(event.at, _selection(event))),
        object_link=_object_link(instance),
        rollback=_rollback(event),
    )


def _instance(event: Event) -> models.Model | None:
    """The object as it is now. None if it or its model no longer exists, or if the event names no object."""
    label, _, key = event.object.partition(":")
    try:
        return apps.get_model(label)._default_manager.filter(pk=key).first() if key else None
    except (LookupError, ValueError, ValidationError):  # of an app that this installation no longer has
        return None


def _now(instance: models.Model | None, name: str) -> str:
    if instance is None:
        return GONE
    if name in SECRETS.values() or not hasattr(instance, name):
        return "–"
    return difference(name, None, getattr(instance, name))[2]


def _object_link(instance: models.Model | None) -> str:
    if instance is None:
        return ""
    meta = instance._meta
    try:
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[instance.pk])
    except NoReverseMatch:
        return ""


def _selection(event: Event) -> Selection:
    dimension = DIMENSION_OF.get(event.subject_type)
    concerned: dict[str, Any] = {dimension: (event.subject,)} if dimension else {}
    return Selection.of(concerned) if dimension and event.subject != "All operations" else Selection()


def _rollback(event: Event) -> str:
    """The link to the plan that undoes this change; "" if it changed no object."""
    if not event.object:
        return ""
    before = event.at - timedelta(microseconds=1)
    return f"{reverse('history:rollback')}?{urlencode({'moment': before.isoformat(), 'object': event.object})}"
