"""Sets the configuration, or one object of it, back to its state at a moment.

The histories of django-simple-history hold the earlier states of each object. A rollback is a change like any other: it
is validated, it has a reason, the histories get new entries, and it can be rolled back. Its plan lists what cannot be
set back.

Models say what is special about them: `not_in_history` (a "secret" or a "definition" that a deleted object needs),
`unique_by` (the fields by which an object is known again that was deleted and added again), `parts` (rows that are
deleted, and created again, together with it), `missing_server`, `stays_because` and `is_left_out_of_rollbacks`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import models, transaction
from simple_history.models import registered_models

from context_protection.configuration.changes import SECRETS, compared_fields, difference, value_in_words
from context_protection.reasons import give_reason
from gateway.access.tool_switch import ToolSwitch
from gateway.change_events import ADDED_AUTOMATICALLY, words_for

VERBS = {"create": "add", "change": "change", "delete": "delete"}  # the permission that each action needs
NEEDS = {"secret": "add it again", "definition": "import the document of its API again"}


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

    @property
    def switched(self) -> str:
        """on or off, of a tool's row that is created again; "" for other steps."""
        if self.action != "create" or not isinstance(self.instance, ToolSwitch):
            return ""
        return "on" if self.instance.is_switched_on else "off"


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
        found = list(_differing(model, moment, {model._meta.pk.attname: key} if key else {}))
        for each in (*found, *(_parts(found, moment) if key else ())):
            if sentence := each if isinstance(each, str) else _refusal(each, user, steps):
                kept.append(sentence)
            elif isinstance(each, ObjectRollback):
                steps.append(each)
    return RollbackPlan(moment, tuple(steps), tuple(kept))


def _parts(found: Sequence[ObjectRollback | str], moment: datetime) -> Iterator[ObjectRollback | str]:
    """The steps for what was deleted together with objects that are created again."""
    for step in found:
        if isinstance(step, ObjectRollback) and step.action == "create":
            for model, chosen in getattr(step.instance, "parts", ()):
                yield from _differing(model, moment, chosen)


def _refusal(step: ObjectRollback, user: Any, before: Sequence[ObjectRollback]) -> str:
    """Why the step is not in the plan, as a sentence; "" if it is. `before`: the steps that come before it."""
    if not _may(user, step):
        stays = "stays deleted" if step.action == "create" else "stays"
        return f"The {step.kind} {step.name} {stays}: your role may not {step.action} it."
    missing = getattr(step.instance, "missing_server", "") if step.action == "create" else ""
    if missing and not any(each.name == missing and hasattr(each.instance, "parts") for each in before):
        return f"The {step.kind} {step.name} was deleted since, with its server. Add that again first."
    return ""


def apply(chosen: RollbackPlan, reason: str) -> None:
    """Carries out a plan: all of it, or nothing. Raises RollbackRefused."""
    # A deleted object may have the unique name of one that is created again.
    deletions_first = sorted(chosen.steps, key=lambda step: step.action != "delete")
    with transaction.atomic():
        for step in deletions_first:
            give_reason(step.instance, reason)
            _delete(step) if step.action == "delete" else _save(step)
        for step in chosen.steps:
            if step.action != "delete":
                _validate(step)


def _delete(step: ObjectRollback) -> None:
    try:
        step.instance.delete()
    except models.ProtectedError as error:  # another object refers to it since the plan was made
        raise RollbackRefused(str(error.args[0])) from None


def _save(step: ObjectRollback) -> None:
    try:
        step.instance.validate_unique()  # another object may have its name, and stay
        step.instance.validate_constraints()
    except ValidationError as error:
        raise _refused(step, error) from None
    step.instance.save()


def _validate(step: ObjectRollback) -> None:
    try:
        step.instance.full_clean()
    except ValidationError as error:
        raise _refused(step, error) from None


def _refused(step: ObjectRollback, error: ValidationError) -> RollbackRefused:
    return RollbackRefused(f"{step.kind} {step.name}: {' '.join(error.messages)}")


def _models(label: str) -> list[type[models.Model]]:
    """The models that have a history, or the one of this label. Models that a rollback leaves alone are left out."""
    known = {each._meta.label_lower: each for each in registered_models.values()}
    chosen = [model for name, model in sorted(known.items()) if label in ("", name)]
    return [model for model in chosen if not getattr(model, "is_left_out_of_rollbacks", False)]


def _differing(
    model: type[models.Model], moment: datetime, chosen: Mapping[str, str]
) -> Iterator[ObjectRollback | str]:
    """Yields, for each object that differs from its state at `moment`, a step, or a sentence if it cannot be set
    back. `chosen`: the values of fields that the objects have."""
    present = {each.pk: each for each in model._default_manager.filter(**chosen)}
    now = {pk: each for pk, each in present.items() if _is_chosen(each)}
    history: Any = model.history  # type: ignore[attr-defined]
    newest = history.filter(history_date__lte=moment, **chosen).latest_of_each()
    then = {_key(version): version for version in newest if version.history_type != "-"}
    then = {pk: version for pk, version in then.items() if pk in now or _is_chosen(version)}
    again = _added_again(model, then, present)
    for pk, version in then.items():
        if pk in now:
            yield from _changed_back(now[pk], version)
        elif pk not in again:
            yield _recreated(model, version)
        elif isinstance(again[pk], ToolSwitch):
            yield from _changed_back(again[pk], version)
    switched = {each.pk for each in again.values() if isinstance(each, ToolSwitch)}
    for pk in now:
        if pk in then or pk in switched:
            continue
        if history.filter(**{model._meta.pk.attname: pk}).exists():  # it did not exist then
            yield _removed(now[pk])


def _is_chosen(switch: Any) -> bool:
    """False for a switch that nobody has moved yet: a rollback leaves it to its default."""
    return getattr(switch, "is_chosen", True)


def _added_again(
    model: type[models.Model], then: Mapping[Any, Any], now: Mapping[Any, models.Model]
) -> dict[Any, models.Model]:
    """The primary key of each object that was deleted since → the object that was added in its place."""
    names = getattr(model, "unique_by", ())
    known = {tuple(getattr(each, name) for name in names): each for each in now.values()} if names else {}
    places = {pk: tuple(getattr(then[pk], name) for name in names) for pk in then if pk not in now}
    return {pk: known[place] for pk, place in places.items() if place in known}


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
            _set(instance, each, getattr(version, each))
    if differences:
        yield ObjectRollback(kind, name, "change", tuple(differences), instance)


def _set(instance: models.Model, name: str, value: Any) -> None:
    if isinstance(instance, ToolSwitch) and name == instance.switched_by:
        instance.switch(is_on=value)
    else:
        setattr(instance, name, value)


def _recreated(model: type[models.Model], version: Any) -> ObjectRollback | str:
    instance = version.instance
    kind, name = words_for(instance), _name(instance)
    if lost := getattr(instance, "not_in_history", ""):
        then = " Then roll back once more, for its tools." if hasattr(instance, "parts") else ""
        return f"The {kind} {name} was deleted since. Its {lost} is not stored, so {NEEDS[lost]}.{then}"
    return ObjectRollback(kind, name, "create", (), instance)


def _name(instance: models.Model) -> str:
    try:
        return str(instance)
    except ObjectDoesNotExist:  # what its text is made of was deleted too
        return str(getattr(instance, "name", instance.pk))


def _removed(instance: models.Model) -> ObjectRollback | str:
    kind, name = words_for(instance), str(instance)
    if reason := getattr(instance, "stays_because", ""):
        return f"The {kind} {name} was added since and stays. {reason}"
    if _is_whole(type(instance)):
        return ObjectRollback(kind, name, "delete", (), instance)
    if isinstance(instance, ToolSwitch):
        return f"The {kind} {name} was added since and stays. Switch it on its own page if you want it otherwise."
    return f"The {kind} {name} was added since and stays. Remove it on its own page if you do not want it."


def _is_whole(model: type[models.Model]) -> bool:
    """Whether people create such objects and their history has all fields, so that one can be deleted and later be
    created again."""
    left_out = model.history.model._history_excluded_fields  # type: ignore[attr-defined]
    return not left_out and model._meta.model_name not in ADDED_AUTOMATICALLY


def _may(user: Any, step: ObjectRollback) -> bool:
    """Rows of tools are added by Sluice itself, so that to set one back is to change it."""
    meta = step.instance._meta
    verb = "change" if isinstance(step.instance, ToolSwitch) else VERBS[step.action]
    return bool(user.has_perm(f"{meta.app_label}.{verb}_{meta.model_name}"))
