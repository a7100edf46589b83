"""Saves a draft of switches: all of it, or nothing."""

from collections.abc import Sequence

from django.db import transaction

from context_protection.configuration.revisions import one_change
from context_protection.reasons import give_reason
from gateway.access.tool_switch import ToolSwitch
from gateway.staff.tools.draft import SwitchChange, overtaken_words


class SwitchesOvertaken(Exception):
    """Another person has switched some of the same tools since. `sentences`: one for each."""

    def __init__(self, sentences: Sequence[str]) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


def save(changes: Sequence[SwitchChange], reason: str) -> None:
    """Saves each row on its own, so that its history has the change with the reason. Raises SwitchesOvertaken."""
    with transaction.atomic(), one_change():
        rows = [(change, _locked(change.switch)) for change in changes]
        if overtaken := [_overtaken(change, row) for change, row in rows if not _is_as_seen(change, row)]:
            raise SwitchesOvertaken(overtaken)
        for change, row in rows:
            assert row is not None
            row.switch(is_on=change.is_on)
            give_reason(row, reason)
            row.save()


def _locked(switch: ToolSwitch) -> ToolSwitch | None:
    rows = type(switch)._default_manager.select_for_update().order_by("pk")
    return rows.filter(pk=switch.pk).first()


def _is_as_seen(change: SwitchChange, row: ToolSwitch | None) -> bool:
    return row is not None and row.is_switched_on != change.is_on


def _overtaken(change: SwitchChange, row: ToolSwitch | None) -> str:
    return f"{change.title} no longer exists." if row is None else overtaken_words(change.title, row)
