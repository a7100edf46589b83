"""Dates have one form wherever people look, also above a list that is drilled into by date."""

import re
from datetime import UTC, datetime

import pytest
from django.test import Client

from gateway.logins.models import SecurityEvent

MONTHS = re.compile(r"\b(January|February|March|April|May|June|July|August|September|October|November|December)\b")


@pytest.mark.django_db
@pytest.mark.parametrize("days", [("2026-11-24", "2026-11-25"), ("2026-10-24", "2026-11-25")])
def test_the_days_and_months_above_a_list_are_written_in_numbers(admin_client: Client, days: tuple[str, ...]):
    for day in days:
        at = datetime.fromisoformat(day).replace(tzinfo=UTC)
        SecurityEvent.objects.create(kind=SecurityEvent.SecurityEventKind.LOGOUT, at=at)
    page = admin_client.get("/admin/logins/securityevent/").content.decode()
    assert 'class="toplinks"' in page
    assert MONTHS.findall(page) == []
