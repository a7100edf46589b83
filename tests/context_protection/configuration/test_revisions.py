"""A number that moves when configuration changes, seen by every process."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import OperationalError, transaction

from context_protection.configuration.revisions import FileRevisions, SharedRevisions, bump_on_commit, revisions
from context_protection.models import Revision
from tests.e2e.clusters import ROOT, Stores, own_stores


def test_it_begins_without_a_file(tmp_path: Path):
    assert FileRevisions(tmp_path / "revision").current() == 0


def test_two_changes_in_a_row_are_two_revisions(tmp_path: Path):
    """The file system's own clock ticks every few milliseconds only."""
    here = FileRevisions(tmp_path / "revision")
    seen = [here.current()]
    for _ in range(200):
        here.bump()
        seen.append(here.current())
    assert len(set(seen)) == 201


BUMP = """
import sys
from pathlib import Path
import django
django.setup()
from context_protection.configuration.revisions import FileRevisions
FileRevisions(Path(sys.argv[1])).bump()
"""


def test_another_process_sees_it_with_its_next_look(tmp_path: Path):
    here = FileRevisions(tmp_path / "revision")
    before = here.current()
    subprocess.run(
        [sys.executable, "-c", BUMP, str(tmp_path / "revision")],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "gateway.settings"},
        check=True,
    )
    assert here.current() != before


@pytest.mark.django_db(transaction=True)
def test_a_change_is_announced_when_it_is_committed_and_not_before():
    before = revisions.current()
    with transaction.atomic():
        bump_on_commit()
        assert revisions.current() == before
    after = revisions.current()
    assert after != before
    with transaction.atomic():
        bump_on_commit()
        transaction.set_rollback(True)
    assert revisions.current() == after


@pytest.mark.django_db
def test_the_row_counts_every_change():
    assert Revision.objects.number(1) == 0
    assert [Revision.objects.advance(1) for _ in range(3)] == [1, 2, 3]
    assert Revision.objects.number(1) == 3


# -- Several processes around one Postgres and one Redis --------------------------------------------

FOLLOW = """
    import sys, threading, time
    import django
    django.setup()
    from django.conf import settings
    from context_protection.configuration.revisions import SharedRevisions
    shared = SharedRevisions(settings.REDIS_URL if sys.argv[1] == "announced" else sys.argv[1])
    print(shared.current(), flush=True)
    for line in sys.stdin:
        known, deadline = int(line), time.monotonic() + 30
        while shared.current() <= known and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        print(shared.current(), flush=True)
"""


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stores]:
    import psycopg

    with own_stores(tmp_path_factory.mktemp("revisions")) as own:
        with psycopg.connect(own.database_url, dbname="postgres", autocommit=True) as server:
            server.execute(f"DROP DATABASE IF EXISTS {own.database} WITH (FORCE)")
            server.execute(f"CREATE DATABASE {own.database}")
        own.manage("migrate", "--verbosity", "0")
        yield own


@pytest.mark.cluster
@pytest.mark.parametrize("way", ["announced", "redis://127.0.0.1:1/0", ""])
def test_another_process_follows_by_announcement_or_while_redis_is_away_by_looking(stores: Stores, way: str):
    environment = stores.environment | {"DJANGO_SETTINGS_MODULE": "gateway.settings", "LOG_LEVEL": "ERROR"}
    program = [sys.executable, "-c", textwrap.dedent(FOLLOW), way]
    with subprocess.Popen(
        program, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        try:
            known = int(other.stdout.readline())
            for name in ("one", "two"):
                other.stdin.write(f"{known}\n")
                other.stdin.flush()
                stores.manage("apikey", "create", f"{name}-{way}")
                number = int(other.stdout.readline())
                assert number > known
                known = number
        finally:
            other.kill()


@pytest.mark.django_db
def test_it_is_known_since_when_the_database_could_not_be_read(monkeypatch: pytest.MonkeyPatch):
    shared = SharedRevisions("")
    assert time.monotonic() - shared.confirmed_at < 5, "nobody has asked yet"
    monkeypatch.setattr(shared, "_listening_in", os.getpid())
    shared._poll()
    confirmed = shared.confirmed_at
    assert confirmed > 0

    def away(self: object, of: int) -> int:
        raise OperationalError

    monkeypatch.setattr(type(Revision.objects), "number", away)
    shared._poll()
    assert shared.confirmed_at == confirmed
