"""Sets the configuration, or one object of it, back to its state at a moment.

The histories of django-simple-history hold the earlier states of each object. A rollback is a change like any other: it
is validated, it has a reason, the histories get new entries, and it can be rolled back. Its plan lists what cannot be
set back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models, transaction
from simple_history.models import registered_models

from context_protection.configuration.changes import SECRETS, compared_fields, difference, value_in_words
from context_protection.reasons import give_reason
from gateway.change_events import ADDED_AUTOMATICALLY, words_for

VERBS = {"create": "add", "change": "change", "delete": "delete"}  # the permission that each action needs


class RollbackRefused(Exception):
    """The plan cannot be carried out: its values are not valid now, or an object to delete is in use. The text says
    why."""


@dataclass(frozen=True, slots=True)
class ObjectRollback:
    """What a rollback does to one object. `action`: create, change or delete. `differences`: the name, the value now
    and the value then of each field, fit to be shown."""

    kind: str
    name: str
    action: str
    differences: Sequence[tuple[str, str, str]]
    instance: models.Model = field(repr=False)  # with the values of that moment, or the object to delete


@dataclass(frozen=True, slots=True)
class RollbackPlan:
    """`kept`: a sentence for each object that differs and cannot be set back."""

    moment: datetime
    steps: Sequence[ObjectRollback]
    kept: Sequence[str]

    @property
    def changes(self) -> int:
        """How many values change; an object that is added or deleted counts as one."""
        return sum(len(step.differences) if step.action == "change" else 1 for step in self.steps)


def plan(moment: datetime, user: Any, only: str = "") -> RollbackPlan:
    """What a rollback to `moment` would do. `only`: one object, as app.model:key. Changes nothing."""
    label, _, key = only.partition(":")
    steps: list[ObjectRollback] = []
    kept: list[str] = []
    for model in _models(label):
        for found in _differing(model, moment, key):
            if isinstance(found, str):
                kept.append(found)
            elif _may(user, found):
                steps.append(found)
            else:
                kept.append(f"The {found.kind} {found.name} stays: your role may not {found.action} it.")
    return RollbackPlan(moment, tuple(steps), tuple(kept))


def apply(chosen: RollbackPlan, reason: str) -> None:
    """Carries out a plan: all of it, or nothing. Raises RollbackRefused."""
    with transaction.atomic():
        for step in chosen.steps:
            give_reason(step.instance, reason)
            _delete(step) if step.action == "delete" else step.instance.save()
        for step in chosen.steps:
            if step.action != "delete":
                _validate(step)


def _delete(step: ObjectRollback) -> None:
    try:
        step.instance.delete()
    except models.ProtectedError as error:  # another object refers to it since the plan was made
        raise RollbackRefused(str(error.args[0])) from None


def _validate(step: ObjectRollback) -> None:
    try:
        step.instance.full_clean()
    except ValidationError as error:
        raise RollbackRefused(f"{step.kind} {step.name}: {' '.join(error.messages)}") from None


def _models(label: str) -> list[type[models.Model]]:
    """The models that have a history, or the one of this label. Models that a rollback leaves alone are left out."""
    known = {each._meta.label_lower: each for each in registered_models.values()}
    chosen = [model for name, model in sorted(known.items()) if label in ("", name)]
    return [model for model in chosen if not getattr(model, "is_left_out_of_rollbacks", False)]


def _differing(model: type[models.Model], moment: datetime, key: str) -> Iterator[ObjectRollback | str]:
    """Yields, for each object that differs from its state at `moment`, a step, or a sentence if it cannot be set
    back."""
    chosen = {"pk": key} if key else {}
    now = {each.pk: each for each in model._default_manager.filter(**chosen)}
    history: Any = model.history  # type: ignore[attr-defined]
    of_key = {model._meta.pk.attname: key} if key else {}
    newest = history.filter(history_date__lte=moment, **of_key).latest_of_each()
    then = {_key(version): version for version in newest if version.history_type != "-"}
    for pk in [*then, *(pk for pk in now if pk not in then)]:
        if pk not in now:
            yield _recreated(model, then[pk])
        elif pk in then:
            yield from _changed_back(now[pk], then[pk])
        elif history.filter(**{model._meta.pk.attname: pk}).exists():  # it did not exist then
            yield _removed(now[pk])


def _key(version: Any) -> Any:
    return getattr(version, version.instance_type._meta.pk.attname)


def _changed_back(instance: models.Model, version: Any) -> Iterator[ObjectRollback | str]:
    names = [name for name in compared_fields(version) if getattr(instance, name) != getattr(version, name)]
    kind, name = words_for(instance), str(instance)
    if names and getattr(instance, "revoked_at", None):
        yield f"The {kind} {name} is revoked and stays as it is."
        return
    if lost := [SECRETS[each] for each in names if each in SECRETS]:
        yield f"The {lost[0]} of {kind} {name} was changed since. The old one is not stored, so the new one stays."
    differences = []
    for each in names:
        if each not in SECRETS:
            label, now, then = difference(each, getattr(instance, each), getattr(version, each))
            differences.append((label.replace("_", " "), value_in_words(now), value_in_words(then)))
            setattr(instance, each, getattr(version, each))
    if differences:
        yield ObjectRollback(kind, name, "change", tuple(differences), instance)


def _recreated(model: type[models.Model], version: Any) -> ObjectRollback | str:
    kind, name = words_for(model()), str(version.instance)
    if not _is_whole(model):
        return f"The {kind} {name} was deleted since. Its secret is not stored, so add it again."
    return ObjectRollback(kind, name, "create", (), version.instance)


def _removed(instance: models.Model) -> ObjectRollback | str:
    kind, name = words_for(instance), str(instance)
    if reason := getattr(instance, "stays_because", ""):
        return f"The {kind} {name} was added since and stays. {reason}"
    if _is_whole(type(instance)):
        return ObjectRollback(kind, name, "delete", (), instance)
    return f"The {kind} {name} was added since and stays. Remove it on its own page if you do not want it."


def _is_whole(model: type[models.Model]) -> bool:
    """Whether people create such objects and their history has all fields, so that they can be deleted and created
    again."""
    left_out = model.history.model._history_excluded_fields  # type: ignore[attr-defined]
    return not left_out and model._meta.model_name not in ADDED_AUTOMATICALLY


def _may(user: Any, step: ObjectRollback) -> bool:
    meta = step.instance._meta
    return bool(user.has_perm(f"{meta.app_label}.{VERBS[step.action]}_{meta.model_name}"))
