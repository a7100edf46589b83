"""Logs each configuration change at INFO (O3), and passes it to listeners: what changed, who changed it, and the old
and new value of each field.

Changes are detected by the signals of django-simple-history, so every model with a history is covered, in any
application.
"""

import logging
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from django.db import models, transaction
from simple_history.signals import post_create_historical_record

from context_protection.core.redaction import redact_text

LONGEST = 200  # characters of a value
IN_ADDRESS = re.compile(r"(?<=://)[^\s/@]+(?=@)")  # user name and password in a URL
ABSENT = "-"  # in a difference: no value
KINDS = {"+": "created", "~": "changed", "-": "deleted"}
# Fields that change whenever a secret changes. Histories omit the secret itself, so only the fact is logged.
SECRETS = {"secret_changed_at": "secret", "prefix": "secret"}
SET_BY_ACTIONS = frozenset({"prefix", "revoked_at"})  # no form has these fields; rotating or revoking a key sets them
IGNORED = frozenset({"id", "changed_at", "created_at"})

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one object. `how`: created, changed or deleted. `by`: the user, else this process's management
    command, else "". `differences`: the name, old value and new value of each changed field, without secrets."""

    instance: models.Model
    version: Any  # an entry of its history
    how: str
    by: str
    differences: Sequence[tuple[str, str, str]]


Listener = Callable[[Change], None]
_listeners: list[Listener] = []


def follow(listener: Listener) -> None:
    """Calls `listener` after each change has been committed. Its errors are logged, and affect nothing else."""
    if listener not in _listeners:
        _listeners.append(listener)


def log_changes() -> None:
    follow(_log)
    post_create_historical_record.connect(_changed, dispatch_uid="configuration changes")


def _changed(sender: Any, *, instance: models.Model, history_instance: Any, using: str, **others: Any) -> None:
    how = KINDS[history_instance.history_type]
    differences = _differences(instance, history_instance, how)
    if how != "deleted" and not differences:  # no field changed that a person can set
        return
    user = history_instance.history_user
    by = user.get_username() if user is not None else _command()
    tell(Change(instance, history_instance, how, by, differences), using)


def tell(change: Change, using: str | None = None) -> None:
    """Passes a change to the listeners once it is committed. The histories pass theirs; other code calls this only for
    changes that no history has, such as those of many-to-many fields."""
    for listener in _listeners:
        transaction.on_commit(partial(listener, change), using=using, robust=True)


def _command() -> str:
    """The management command that this process runs, such as "manage.py apikey"; empty in other programs."""
    program, command, *_ = (*sys.argv, "", "")
    return f"manage.py {command}" if Path(program).name == "manage.py" else ""


def _log(change: Change) -> None:
    line = {
        "kind": str(change.instance._meta.verbose_name),
        "object": _shown(str(change.instance)),
        "change": change.how,
        "by": change.by,
        "fields": {
            name: new if name in SECRETS.values() else f"{old} → {new}" for name, old, new in change.differences
        },
    }
    logger.info("configuration changed", extra=line)


def _differences(instance: models.Model, version: Any, how: str) -> list[tuple[str, str, str]]:
    """The fields that differ; for a new object, from their defaults."""
    if how == "deleted":
        return []
    before = version.prev_record if how == "changed" else type(instance)()
    if before is None:  # the history is younger than the object
        return []
    found = [
        difference(name, getattr(before, name), getattr(version, name))
        for name in compared_fields(version)
        if getattr(before, name) != getattr(version, name)
    ]
    return [each for each in found if each[1:] != (ABSENT, ABSENT)]


def compared_fields(version: Any) -> list[str]:
    """The fields of a history entry that people can set, in a form or by an action."""
    return [
        field.attname
        for field in version.tracked_fields
        if (field.editable or field.name in SET_BY_ACTIONS) and field.name not in IGNORED
    ]


def difference(name: str, old: Any, new: Any) -> tuple[str, str, str]:
    """A field's name, old value and new value, without secrets."""
    if name in SECRETS:
        return SECRETS[name], ABSENT, "changed"
    return name, _shown(old), _shown(new)


def value_in_words(value: str) -> str:
    """One side of a difference, for people."""
    return "not set" if value == ABSENT else value


def _shown(value: Any) -> str:
    """The value as text, with secrets withheld; ABSENT if there is none."""
    if value is None or value in ("", [], {}):
        return ABSENT
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    text = redact_text(IN_ADDRESS.sub("***", str(value)))[0]
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
