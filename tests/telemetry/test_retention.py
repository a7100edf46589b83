from datetime import timedelta

import pytest
from django.utils import timezone

from telemetry import retention, tasks
from telemetry.models import TelemetryRecord
from tests.telemetry.examples import NOON, a_call, stored

pytestmark = pytest.mark.django_db


def test_calls_are_forgotten_after_the_retention_batch_by_batch(settings):
    settings.TELEMETRY_RETENTION_DAYS = 30
    old, kept = NOON - timedelta(days=30, seconds=1), NOON - timedelta(days=30)
    stored(*[a_call(at=old)] * 7, a_call(at=kept), a_call(at=NOON))
    assert retention.purge_old_calls(now=NOON, batch=3) == 7
    assert set(TelemetryRecord.objects.values_list("created_at", flat=True)) == {kept, NOON}
    assert retention.purge_old_calls(now=NOON, batch=3) == 0


def test_the_task_is_known_by_the_name_in_the_schedule():
    stored(a_call(at=timezone.now()))
    assert tasks.purge_old_calls.name == "telemetry.tasks.purge_old_calls"
    tasks.purge_old_calls()
    assert TelemetryRecord.objects.count() == 1
