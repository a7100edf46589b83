"""One INFO line for each change of the configuration: what, by whom, and each field's old and new value (O3).

It follows the histories of django-simple-history, so it holds for every model that has one, of any application.
"""

import logging
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import models, transaction
from simple_history.signals import post_create_historical_record

from context_protection.core.redaction import redact_text

LONGEST = 200  # characters of a value
IN_ADDRESS = re.compile(r"(?<=://)[^\s/@]+(?=@)")  # user name and password
KINDS = {"+": "created", "~": "changed", "-": "deleted"}
# Fields that stand for a secret, which histories leave out: only the fact of its change is logged.
SECRETS = {"secret_changed_at": "secret"}
IGNORED = frozenset({"id", "changed_at", "created_at"})

logger = logging.getLogger(__name__)


def log_changes() -> None:
    post_create_historical_record.connect(_log, dispatch_uid="configuration changes")


def _log(sender: Any, *, instance: models.Model, history_instance: Any, using: str, **others: Any) -> None:
    kind = KINDS[history_instance.history_type]
    fields = _fields(instance, history_instance, kind)
    if kind != "deleted" and not fields:  # nothing that a person can set
        return
    user = history_instance.history_user
    line = {
        "kind": str(instance._meta.verbose_name),
        "object": _shown(str(instance)),
        "change": kind,
        "by": user.get_username() if user is not None else "",
        "fields": fields,
    }
    transaction.on_commit(partial(logger.info, "configuration changed", extra=line), using=using, robust=True)


def _fields(instance: models.Model, version: Any, kind: str) -> Mapping[str, str]:
    """ "old → new" for each field that differs; for a new object from its defaults."""
    if kind == "deleted":
        return {}
    before = version.prev_record if kind == "changed" else type(instance)()
    if before is None:  # the history is younger than the object
        return {}
    names = [field.attname for field in version.tracked_fields if field.editable and field.name not in IGNORED]
    return dict(
        _difference(name, getattr(before, name), getattr(version, name))
        for name in names
        if getattr(before, name) != getattr(version, name)
    )


def _difference(name: str, old: Any, new: Any) -> tuple[str, str]:
    if name in SECRETS:
        return SECRETS[name], "changed"
    return name, f"{_shown(old)} → {_shown(new)}"


def _shown(value: Any) -> str:
    """ "-" stands for no value. Secrets in it are withheld."""
    if value is None or value == "":
        return "-"
    text = redact_text(IN_ADDRESS.sub("***", str(value)))[0]
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
