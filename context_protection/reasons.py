"""The reason of a change: a person gives it in a form, and the object's history stores it."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db import models

REASON = "change_reason"  # the name of the form's field
LONGEST_REASON = 100  # characters; the width of django-simple-history's column
REASON_NEEDED = "Give a reason. History keeps it with this change."


def reason_field(*, is_required: bool = False) -> forms.CharField:
    """The field in which a person gives the reason, for every form whose changes are stored in a history."""
    return forms.CharField(
        label="Reason",
        max_length=LONGEST_REASON,
        required=is_required,
        help_text="The reason for this change. Kept in History.",
        widget=forms.TextInput({"size": 60, "autocomplete": "off"}),
        error_messages={"required": REASON_NEEDED},
    )


def reason_in(posted: Mapping[str, Any], name: str = REASON) -> str:
    """The reason in a form's data, cut to the width of its column; "" if none was given. Postgres stores no NUL."""
    return str(posted.get(name, "")).replace("\0", "").strip()[:LONGEST_REASON]


def give_reason(instance: models.Model, reason: str) -> None:
    """Stores the reason with the next change of the object, which may be its deletion. "": no reason."""
    instance._change_reason = reason.strip()[:LONGEST_REASON] or None  # type: ignore[attr-defined]  # of simple_history
