"""How often callers ask for more after a short answer of a tool, and for which fields.

Telemetry has the argument names of every call, but the values of `fields` only for calls whose arguments are stored.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from telemetry.measurement import CallOutcome
from telemetry.models import CallArguments
from telemetry.queries.records import select
from telemetry.queries.selection import DimensionFilter, Selection
from telemetry.queries.span import Span

NEWEST = 2000  # calls
WITHIN = timedelta(minutes=5)  # from a short answer to the call for more
FIELDS = "fields"
EVERYTHING = ("all", "*", "raw")


class ReadingCall(NamedTuple):
    """The columns of a call that show how short answers are used."""

    at: datetime
    caller: str
    operation: str
    names: str
    is_short: bool
    request_id: str

    @property
    def asks_for_fields(self) -> bool:
        return FIELDS in self.names.replace(" ", "").split(",")


@dataclass(frozen=True, slots=True)
class DrillDowns:
    """`short`: short answers to calls that named no fields. `followed`: those after which the same key asked for more
    within WITHIN. `known`: the calls for more whose fields are known. `fields`: how many of these asked for each field;
    `everything`: how many asked for all fields."""

    short: int
    followed: int
    known: int = 0
    everything: int = 0
    fields: Mapping[str, int] | None = None


def drill_downs(span: Span, tool: str, opened_by: str = "") -> DrillDowns:
    """`opened_by`: the tool that returns one row of the list; "" if there is none."""
    tools = tuple(DimensionFilter("tool", name) for name in dict.fromkeys([tool, opened_by or tool]))
    calls = select(span, Selection(tools)).exclude(outcome=CallOutcome.ERROR).order_by("-created_at", "-pk")
    columns = ("created_at", "caller", "operation", "argument_names", "summarization_used", "request_id")
    rows = [ReadingCall(*row) for row in calls.values_list(*columns)[:NEWEST]][::-1]
    found = followed_by(rows, tool, opened_by)
    asked = _asked([each.request_id for each in found.values() if each is not None])
    names = Counter(name for used in asked for name in set(used))
    return DrillDowns(
        short=len(found),
        followed=sum(each is not None for each in found.values()),
        known=len(asked),
        everything=sum(any(name in EVERYTHING for name in used) for used in asked),
        fields={name: count for name, count in names.most_common() if name not in EVERYTHING},
    )


def followed_by(calls: Sequence[ReadingCall], tool: str, opened_by: str) -> Mapping[int, ReadingCall | None]:
    """The call for more after each short answer, by the answer's index in `calls`, which are sorted oldest first. A
    call for more belongs to the caller's last short answer before it."""
    found: dict[int, ReadingCall | None] = {}
    last: dict[str, int] = {}  # by caller
    for place, call in enumerate(calls):
        if call.operation == tool and call.is_short and not call.asks_for_fields:
            found[place], last[call.caller] = None, place
        elif (call.operation == tool and call.asks_for_fields) or (opened_by and call.operation == opened_by):
            before = last.pop(call.caller, None)
            if before is not None and call.at - calls[before].at <= WITHIN:
                found[before] = call
    return found


def _asked(request_ids: Sequence[str]) -> list[list[str]]:
    """The values of `fields` of those calls whose arguments are stored."""
    kept = CallArguments.objects.filter(request_id__in=request_ids).values_list("values", flat=True)
    texts = [values.get(FIELDS) for values in kept if isinstance(values, dict)]
    return [[name.strip() for name in text.split(",") if name.strip()] for text in texts if isinstance(text, str)]
