"""Records each change of the configuration as an event. Events are marks on charts, candidate causes beside a bad
verdict, and rows of /admin/history/."""

from django.db import models
from django.urls import reverse

from context_protection.configuration import changes
from context_protection.configuration.changes import ABSENT, Change
from context_protection.configuration.revisions import revisions
from context_protection.layers.file import watcher
from context_protection.layers.file.source import FileOutcome
from telemetry import events

# The words for objects of these models. Objects of other models have their model's name.
NAMES = {"tokenbudget": "budget", "apikey": "key", "upstreamapi": "upstream", "mcpserver": "upstream"}
LONGEST_AFTER = 200  # characters; fewer than the column holds, so that the text is stored whole and can be compared
ADDED_AUTOMATICALLY = frozenset({"connectorswitch", "importedoperation", "mcptool"})  # adding one is not an event


def follow() -> None:
    """Starts recording."""
    changes.follow(record)
    watcher.follow(record_file)


def record_file(outcome: FileOutcome) -> None:
    """Records that a configuration file was loaded or rejected, once for all processes that have read it. Blocks."""
    status = outcome.status
    if status.problems:
        after = f"refused: {status.problems[0]}"
        summary = f"{status.name} was refused: {status.problems[0]} {status.stays}"
    else:
        after = f"version {status.digest}"
        changed = "; ".join(f"{each.key} {each.words}" for each in outcome.changes)
        summary = f"{status.name} is in force. {changed}".strip()
    events.record_if_new(
        kind=events.EventKind.CHANGE,
        subject_type="file",
        subject=status.name,
        summary=summary,
        after=after[:LONGEST_AFTER],
        revision=str(revisions.current()),
    )


def record(change: Change) -> None:
    """Blocks."""
    meta, name = change.instance._meta, str(change.instance)
    if change.how != "changed" and meta.model_name in ADDED_AUTOMATICALLY:
        return
    fields, before, after = _differences(change)
    event = events.record(
        kind=events.EventKind.CHANGE,
        at=change.version.history_date,
        subject_type=words_for(change.instance),
        subject=name,
        summary=_summary(change, name, fields),
        actor=change.by,
        before=before,
        after=after,
        reason=change.version.history_change_reason or "",
        revision=str(revisions.current()),
        object=f"{meta.label_lower}:{change.version.serializable_value(meta.pk.attname)}",
        differences=[list(each) for each in change.differences],
    )
    event.link = reverse("history:change", args=[event.pk])
    event.save(update_fields=["link"])


def _summary(change: Change, name: str, fields: str) -> str:
    """One sentence. A change that only sets a time, such as `revoked_at`, reads as an event: "… was revoked."."""
    if change.how != "changed":
        return f"{name} was {change.how}."
    field, old, _ = change.differences[0]
    if len(change.differences) == 1 and field.endswith("ed_at") and old == ABSENT:
        return f"{name} was {field.removesuffix('_at')}."
    return f"{name}: {fields} changed."


def _differences(change: Change) -> tuple[str, str, str]:
    """The fields, and their values before and after; empty for a new or deleted object."""
    found = change.differences if change.how == "changed" else ()
    fields = ", ".join(label_of(change.instance, name) for name, _, _ in found)
    if len(found) == 1:
        return fields, found[0][1], found[0][2]
    before = "; ".join(f"{name}: {old}" for name, old, _ in found)
    return fields, before, "; ".join(f"{name}: {new}" for name, _, new in found)


def words_for(instance: models.Model) -> str:
    """budget, key, upstream: what people call an object of this model."""
    return NAMES.get(instance._meta.model_name or "", str(instance._meta.verbose_name))


def label_of(instance: models.Model, name: str) -> str:
    fields = (*instance._meta.concrete_fields, *instance._meta.many_to_many)
    known = {field.attname: str(getattr(field, "verbose_name", name)) for field in fields}
    return known.get(name, name)
