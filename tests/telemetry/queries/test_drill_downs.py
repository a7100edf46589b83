"""What callers ask for after a short answer."""

from datetime import timedelta
from typing import Any

import pytest

from telemetry.models import CallArguments
from telemetry.queries import Span
from telemetry.queries.drill_downs import DrillDowns, drill_downs
from tests.telemetry.examples import NOON, a_summary, stored

pytestmark = pytest.mark.django_db


def asked(seconds: int, fields: str = "", **changes: Any) -> Any:
    """A call for fields, this long after noon. `fields`: kept, if given."""
    at = NOON + timedelta(seconds=seconds)
    call = a_summary(at=at, request_id=f"more-{seconds}", argument_names="id, fields", summarization_used=False)
    if fields:
        CallArguments.objects.create(
            request_id=call.request_id,
            at=at,
            expires_at=at + timedelta(days=1),
            operation=call.operation,
            names=["id", "fields"],
            values={"id": 1, "fields": fields},
        )
    return call._replace(**changes)


def short(seconds: int, **changes: Any) -> Any:
    return a_summary(at=NOON + timedelta(seconds=seconds), argument_names="id", **changes)


def found(tool: str = "get_booking", opened_by: str = "") -> DrillDowns:
    return drill_downs(Span.of(NOON - timedelta(hours=1), NOON + timedelta(hours=1)), tool, opened_by)


def test_a_call_for_fields_follows_the_last_short_answer_of_the_same_key():
    stored(short(0), asked(10), short(20), short(30, caller="desk"), asked(40), asked(41))
    assert found() == DrillDowns(short=3, followed=2, known=0, everything=0, fields={})


def test_a_later_call_is_another_question():
    stored(short(0), asked(301))
    assert found().followed == 0


def test_kept_arguments_say_which_fields():
    stored(short(0), asked(1, "guest, notes"), short(2), asked(3, "notes,all"), short(4), asked(5))
    used = found()
    assert (used.followed, used.known, used.everything) == (3, 2, 1)
    assert used.fields == {"notes": 2, "guest": 1}


def test_the_rows_of_a_list_are_opened_by_another_tool():
    opened = asked(5)._replace(operation="get_booking")
    stored(short(0, operation="list_bookings"), opened)
    assert found("list_bookings", "get_booking").followed == 1
    assert found("list_bookings").followed == 0
