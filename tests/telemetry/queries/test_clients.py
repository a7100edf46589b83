"""The client programs of a span's calls."""

from datetime import timedelta

import pytest

from telemetry.queries import Selection, Span, clients
from tests.telemetry.examples import NOON, a_call, stored

pytestmark = pytest.mark.django_db
SPAN = Span.of(NOON - timedelta(hours=6), NOON + timedelta(seconds=1))


def test_only_the_newest_calls_are_counted_and_it_is_said(monkeypatch: pytest.MonkeyPatch):
    stored(*(a_call(at=NOON - timedelta(seconds=n)) for n in range(3)))
    monkeypatch.setattr(clients, "CLIENT_CALLS", 3)
    found = clients.clients(SPAN, Selection())
    assert [each.calls for each in found.clients] == [3]
    assert not found.is_cut
    monkeypatch.setattr(clients, "CLIENT_CALLS", 2)
    found = clients.clients(SPAN, Selection())
    assert [each.calls for each in found.clients] == [2]
    assert found.is_cut
