"""Indexes are made by a process of its own, in turns, and what they have come to is stored for all to see."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import connection

from gateway.celery import app
from gateway.connectors import connectors
from gateway.connectors.codebase.indexing import index_places, states, synchronization
from gateway.connectors.codebase.indexing.advance import Advance, AdvanceOutcome, RunStep
from gateway.connectors.codebase.indexing.indexer import IndexedTree
from gateway.connectors.codebase.indexing.process import CRASHED, HANGS, NICENESS, IndexingProcess
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus
from gateway.connectors.codebase.tasks import synchronize_indexes
from tests.gateway.connectors.codebase.repositories import new

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, settings: LazySettings) -> None:
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture(scope="module")
def child() -> Iterator[IndexingProcess]:
    process = IndexingProcess()
    yield process
    process.stop()


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    root = new(tmp_path.resolve() / "shop", **{"a.py": "a = 1\n", "b.py": "b = 1\n"})
    return Project.objects.create(name="shop", path=str(root))


def state_of(project: Project) -> IndexState:
    return IndexState.objects.get(project=project)


# -- The process -------------------------------------------------------------------------------------


def test_projects_are_indexed_by_a_nice_process_of_its_own(shop: Project, tmp_path: Path, child: IndexingProcess):
    other = Project.objects.create(name="web", path=str(new(tmp_path.resolve() / "web", **{"c.py": "c = 1\n"})))
    assert synchronization.synchronize(60, child)
    for project, files in ((shop, 2), (other, 1)):
        state = state_of(project)
        assert (state.status, state.percent, state.total_files) == (IndexStatus.COMPLETE, 100, files)
    assert child._children.pool().schedule(os.getpid).result() != os.getpid()
    assert child._children.pool().schedule(os.nice, args=(0,)).result() == min(19, os.nice(0) + NICENESS)


def test_a_process_that_dies_is_told_and_begun_again(shop: Project, child: IndexingProcess):
    place = index_places.created(shop.pk)
    pid = child._children.pool().schedule(os.getpid).result()
    os.kill(pid, signal.SIGKILL)
    found = child.advance(shop.root, place, 60)
    assert found.outcome is AdvanceOutcome.DONE or found.error == CRASHED, "it may be gone already, or not yet"
    assert child.advance(shop.root, place, 60).outcome is not AdvanceOutcome.FAILED


def test_a_process_that_hangs_is_stopped_and_begun_again(shop: Project, child: IndexingProcess):
    place = index_places.created(shop.pk)
    os.kill(child._children.pool().schedule(os.getpid).result(), signal.SIGSTOP)
    assert child.advance(shop.root, place, 0, grace=0.5).error == HANGS
    assert child.advance(shop.root, place, 60).outcome is AdvanceOutcome.DONE


def test_a_failure_is_stored_and_tried_again_later(shop: Project, child: IndexingProcess, tmp_path: Path):
    shop.root.rename(tmp_path / "away")
    assert synchronization.synchronize(60, child)
    state = state_of(shop)
    assert state.status == IndexStatus.ERROR
    assert str(shop.root) in state.error
    (tmp_path / "away").rename(shop.root)
    synchronization.synchronize(60, child)
    assert state_of(shop).status == IndexStatus.ERROR, "not at once"
    assert state.checked_at is not None
    IndexState.objects.update(checked_at=state.checked_at - synchronization.RETRY)
    synchronization.synchronize(60, child)
    assert (state_of(shop).status, state_of(shop).error) == (IndexStatus.COMPLETE, "")


def test_a_project_that_is_removed_meanwhile_leaves_no_index(shop: Project, child: IndexingProcess):
    removed = Project.objects.get(pk=shop.pk)
    shop.delete()
    assert not synchronization.advance(removed, child)
    assert index_places.place_of(removed.pk).existing() is None


def test_the_run_of_a_project_that_was_removed_ends(shop: Project, child: IndexingProcess):
    place = index_places.created(shop.pk)
    assert child.advance(shop.root, place, 0).outcome is AdvanceOutcome.WORKING
    Project.objects.all().delete()  # its index goes when the transaction ends
    synchronization.synchronize(60, child)
    other = IndexedTree(shop.root, index_places.created(shop.pk))
    child._children.pool().schedule(os.getpid).result()
    assert other.advance(60).outcome is AdvanceOutcome.DONE
    index_places.delete(shop.pk)


@pytest.mark.cluster
def test_a_schema_that_was_left_behind_is_deleted(shop: Project, child: IndexingProcess):
    if connection.vendor != "postgresql":
        pytest.skip("DATABASE_URL names no Postgres")
    left, kept = index_places._schema_place(shop.pk + 1), index_places._schema_place(shop.pk)
    for place in (left, kept):
        place.create()
    synchronization.synchronize(60, child)
    with connection.cursor() as cursor:
        cursor.execute("SELECT nspname FROM pg_namespace")
        schemas = {name for (name,) in cursor.fetchall()}
    assert left.schema not in schemas
    assert kept.schema in schemas
    kept.delete()


def test_beat_has_the_task_of_every_few_seconds(shop: Project):
    schedule = next(each.schedule for each in connectors() if each.name == "codebase")
    (entry,) = (each for each in schedule.values() if each["task"] == synchronize_indexes.name)
    assert entry["schedule"] <= 10
    assert entry in app.conf.beat_schedule.values()


# -- What is stored ----------------------------------------------------------------------------------


def working(done: int, total: int, differing: int, share: float, remaining: float = 0.0) -> Advance:
    return Advance(AdvanceOutcome.WORKING, RunStep(done, total, differing, share, "Reading files"), remaining)


def recorded(project: Project, *advances: Advance) -> list[tuple[str, int, int]]:
    states.begin_missing()
    found = []
    for each in advances:
        states.record(project.pk, each)
        state = state_of(project)
        found.append((state.status, state.percent, state.processed_files))
    return found


def test_progress_never_goes_back_in_a_run_also_where_it_begins_again(shop: Project):
    steps = [working(10, 1000, 1000, 0.1), working(5, 1000, 995, 0.05), working(999, 1000, 995, 0.9999)]
    shown = recorded(shop, *steps, Advance(AdvanceOutcome.DONE, RunStep(1000, 1000, 995, 1.0)))
    assert shown == [("InProgress", 10, 10), ("InProgress", 10, 10), ("InProgress", 99, 999), ("Complete", 100, 1000)]


def test_a_complete_index_stays_so_while_few_files_differ(shop: Project):
    done = Advance(AdvanceOutcome.DONE, RunStep(1000, 1000, 1000, 1.0))
    assert recorded(shop, done, working(999, 1000, 1, 0.9))[-1] == ("Complete", 100, 1000)
    assert recorded(shop, working(100, 1000, 900, 0.1))[-1] == ("InProgress", 10, 100)


def test_the_end_of_a_run_is_estimated(shop: Project):
    recorded(shop, working(10, 1000, 1000, 0.1, remaining=90))
    assert states.progress(state_of(shop)).remaining == pytest.approx(90, abs=5)


def test_a_project_that_was_removed_meanwhile_gets_no_state(shop: Project):
    gone = shop.pk
    shop.delete()
    states.record(gone, working(1, 2, 2, 0.5))
    assert not IndexState.objects.exists()


# -- The command -------------------------------------------------------------------------------------


def sync(*arguments: str) -> str:
    out = StringIO()
    call_command("project", "sync", *arguments, stdout=out)
    return out.getvalue()


def test_sync_ends_when_the_index_is_as_the_tree(shop: Project):
    assert sync("shop").splitlines()[-1] == "complete, 2 files"
    out = StringIO()
    call_command("project", "list", stdout=out)
    assert out.getvalue() == f"shop\t{shop.path}\tcomplete, 2 files\n"


def test_sync_waits_no_longer_than_it_is_told(shop: Project):
    """Another process, such as Sluice's worker, is at it and does not go on."""
    other = IndexedTree(shop.root, index_places.created(shop.pk))
    other.advance(0)
    with pytest.raises(CommandError, match=r"not complete after 0 seconds: .* --wait"):
        sync("shop", "--wait", "0")
    other.stop()


def test_sync_says_why_it_failed(shop: Project, tmp_path: Path):
    shop.root.rename(tmp_path / "away")
    with pytest.raises(CommandError, match="not a git repository"):
        sync("shop")
    with pytest.raises(CommandError, match="The nearest is 'shop'"):
        sync("shp")


def test_the_process_imports_no_django():
    """It is small, and starts in a moment."""
    code = "import sys; import gateway.connectors.codebase.indexing.indexer; print('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
