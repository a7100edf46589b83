"""The arguments of one call that are stored and that the user may see."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from telemetry import access, wording
from telemetry.measurement import CallOutcome, Measurement
from telemetry.models import CallArguments

SEE_VALUES = "telemetry.view_callarguments"
SAME_CALL = timedelta(seconds=1)  # the times of a call and its arguments may differ if an older version stored them
LONGEST = 2_000  # characters of a value that are shown
STORED_AFTER = timedelta(minutes=1)  # arguments are stored after their call: usually half a second


@dataclass(frozen=True, slots=True)
class Argument:
    """`value`: as JSON, masked; "" if it is not shown. `hidden`: why, for each masked part of it."""

    name: str
    value: str = ""
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Arguments:
    """`values`: masked, by name; None if none are stored, or the user may not see them. `note`: the reason, or how long
    they are stored. `answer`: the error that the client got."""

    arguments: tuple[Argument, ...]
    values: Mapping[str, Any] | None
    masked: tuple[str, ...]
    answer: str
    note: str


def arguments_of(call: Measurement, *, may_see_values: bool) -> Arguments:
    stored = _stored(call)
    names = (
        [str(name) for name in stored.names] if stored else [name for name in call.argument_names.split(",") if name]
    )
    note = _note(call, stored, may_see_values=may_see_values)
    if stored is None or not may_see_values:
        return Arguments(tuple(map(Argument, names)), None, (), "", note)
    values = stored.values if isinstance(stored.values, dict) else None
    hidden = [each for each in stored.hidden if isinstance(each, dict)]
    shown = tuple(_argument(name, values or {}, hidden) for name in names)
    masked = tuple(dict.fromkeys(_top(each) for each in hidden if _top(each) in (values or {})))
    return Arguments(shown, values, masked, _pretty(stored.answer), note)


def _stored(call: Measurement) -> CallArguments | None:
    """The arguments of this call. Another call may have the same id, because clients may choose ids."""
    near = (call.at - SAME_CALL, call.at + SAME_CALL)
    found = CallArguments.objects.filter(request_id=call.request_id, at__range=near) if call.request_id else ()
    return min(found, key=lambda each: abs(each.at - call.at), default=None)


def _argument(name: str, values: Mapping[str, Any], hidden: Sequence[Mapping[str, Any]]) -> Argument:
    mine = [each for each in hidden if _top(each) == name]
    if any(each.get("name") == name for each in mine) and name in values:
        return Argument(name, "", tuple(map(_hidden, mine)))
    text = json.dumps(values[name], ensure_ascii=False) if name in values else ""
    cut = f"{text[:LONGEST]}… ({wording.whole(len(text))} characters)" if len(text) > LONGEST else text
    return Argument(name, cut, tuple(f"{each.get('name')}: {_hidden(each)}" for each in mine))


def _top(hidden: Mapping[str, Any]) -> str:
    """The name of the argument that contains a masked value."""
    return str(hidden.get("name", "")).split(".")[0]


def _hidden(each: Mapping[str, Any]) -> str:
    return f"•••• hidden ({wording.plural(int(each.get('characters', 0)), 'character')}, rule: {each.get('rule', '')})"


def _note(call: Measurement, stored: CallArguments | None, *, may_see_values: bool) -> str:
    if not call.argument_names and not (stored and stored.names):
        return ""
    if not may_see_values:
        return f"You see the names only, not the values. {access.who_may(SEE_VALUES)}"
    if stored is None:
        return _why_none(call)
    if stored.values is None:
        return "The values could not be kept: they are too long, or are not JSON."
    return f"Values are kept until {wording.minute(stored.expires_at)}."


def _why_none(call: Measurement) -> str:
    if call.outcome != CallOutcome.ERROR:
        return "Values of successful calls are not kept."
    if timezone.now() - call.at < STORED_AFTER:
        return "The values are not stored yet. Reload the page in a few seconds."
    days = getattr(settings, "TELEMETRY_ARGUMENT_DAYS", 7)
    return f"Values were kept for {days} days at most. The names of the arguments remain."


def _pretty(document: str) -> str:
    """An error's JSON on several lines; a text that was cut is shown as it is."""
    try:
        return json.dumps(json.loads(document), ensure_ascii=False, indent=2) if document else ""
    except ValueError:
        return document
