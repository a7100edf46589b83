"""The page of one change: before, after and now, its reason, its effect on calls, and a link to undo it."""

from datetime import timedelta
from urllib.parse import urlencode

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import NoReverseMatch, reverse
from django.views.decorators.http import require_safe

from context_protection.configuration.changes import SECRETS, difference, value_in_words
from context_protection.core.scopes import BudgetScope
from context_protection.models import TokenBudget
from gateway.staff.history.change_list import CHANGES, SEE, row_of, sentence_of
from gateway.staff.history.effect import effect
from gateway.staff.preview.effect import selection_of
from telemetry.models import Event
from telemetry.pages.address import Address
from telemetry.pages.panels import guarded
from telemetry.pages.shell import page, show
from telemetry.queries.selection import Selection

DIMENSION_OF = {"key": "key", "upstream": "upstream"}  # the dimension that selects the calls of an object, by its kind
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
        rollback=_rollback(event, instance),
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
    value = getattr(instance, name)
    now = ", ".join(map(str, value.all())) if isinstance(value, models.Manager) else value
    return difference(name, None, now)[2]


def _object_link(instance: models.Model | None) -> str:
    if instance is None:
        return ""
    meta = instance._meta
    try:
        return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[instance.pk])
    except NoReverseMatch:
        return ""


def _selection(event: Event) -> Selection:
    """The calls that the change concerns: those that the budget is for, those of the key or upstream, or else all."""
    if (scope := _scope(event)) is not None:
        return selection_of(scope)
    dimension = DIMENSION_OF.get(event.subject_type)
    return Selection.of({dimension: (event.subject,)}) if dimension else Selection()


def _scope(event: Event) -> BudgetScope | None:
    """The scope that the budget had after the change, or before it was deleted. None for other objects."""
    label, _, key = event.object.partition(":")
    if label != TokenBudget._meta.label_lower:
        return None
    version = TokenBudget.history.filter(id=key, history_date__lte=event.at).first()
    return version.instance.scope if version is not None else None


def _rollback(event: Event, instance: models.Model | None) -> str:
    """The link to the plan that undoes this change; "" if it changed no object, or only what no history has."""
    unversioned = {each.name for each in instance._meta.many_to_many} if instance else set()
    changed = {name for name, _, _ in event.differences}
    if not event.object or (changed and changed <= unversioned):
        return ""
    before = event.at - timedelta(microseconds=1)
    return f"{reverse('history:rollback')}?{urlencode({'moment': before.isoformat(), 'object': event.object})}"
