"""A database is migrated when the table of applied migrations has all names of this version."""

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from gateway.process import migration_state

pytestmark = pytest.mark.django_db


def test_the_names_are_those_that_django_would_load():
    assert set(migration_state._migrations()) == MigrationLoader(connection).disk_migrations.keys()


def test_one_that_is_not_applied_is_found():
    assert migration_state.is_migrated()
    recorder = MigrationRecorder(connection)
    recorder.record_unapplied("telemetry", "0001_initial")
    assert not migration_state.is_migrated()
