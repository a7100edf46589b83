"""The place of an index: read by those who find one there, and gone with its project."""

import pickle
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from django.conf import LazySettings
from django.db import connection
from psycopg import sql
from psycopg.conninfo import make_conninfo

from gateway.access.models import ApiKey
from gateway.connectors.codebase.index.index_place import IndexFailed, IndexPlace, PostgresPlace, SqlitePlace
from gateway.connectors.codebase.indexing import index_places
from gateway.connectors.codebase.models import Project
from tests.gateway.connectors.codebase.conftest import IN_POSTGRES
from tests.gateway.connectors.codebase.indexes import put

SHOP = 7


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, settings: LazySettings) -> None:
    settings.DATA_DIR = tmp_path / "data"


def written(place: IndexPlace) -> IndexPlace:
    with place.writing() as store:
        assert store is not None
        put(store, {"a.py": "a = 1"})
    return place


def test_an_index_is_read_once_it_is_there(place: IndexPlace):
    assert place.existing() is None
    written(place)
    store = pickle.loads(pickle.dumps(place)).existing()  # noqa: S301 — as another process has it
    assert store is not None
    with store:
        assert store.paths() == ["a.py"]


def test_one_at_a_time_writes(place: IndexPlace):
    with place.writing() as first, place.writing() as second:
        assert first is not None
        assert second is None
    with place.writing() as third:
        assert third is not None


@pytest.mark.parametrize("new_place", [IN_POSTGRES], indirect=True)
def test_a_place_is_free_although_the_server_has_not_noticed_the_end_of_the_connection(
    place: PostgresPlace, monkeypatch: pytest.MonkeyPatch
):
    open_connections: list[psycopg.Connection] = []
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "close", lambda self: open_connections.append(self))
        with place.writing() as first:
            assert first is not None
        with place.writing() as second:
            assert second is not None
    for each in open_connections:
        each.close()


def test_a_batch_is_seen_when_it_is_complete(place: IndexPlace):
    written(place)
    reader = place.existing()
    assert reader is not None
    with reader, place.writing() as store:
        assert store is not None
        with store.batch():
            store.remove(["a.py"])
            assert reader.paths() == ["a.py"]
        assert reader.paths() == []


@pytest.mark.parametrize("new_place", [IN_POSTGRES], indirect=True)
def test_a_past_is_replaced_while_others_read(place: PostgresPlace):
    written(place)
    impatient = replace(place, conninfo=make_conninfo(place.conninfo, options="-c lock_timeout=500"))
    reader = impatient.existing()
    assert reader is not None
    with reader, place.writing() as store:
        assert store is not None
        with store.batch():
            store.replace_past([("a.py", ["first"], 0)])
            assert reader.file_counts(["first"]) == {}
        assert reader.file_counts(["first"]) == {"first": 1}


@pytest.mark.parametrize("new_place", [IN_POSTGRES], indirect=True)
def test_a_role_that_may_create_no_schema_is_told_what_it_needs(place: PostgresPlace):
    role = f"test_role_{uuid4().hex}"
    with psycopg.connect(place.conninfo, autocommit=True) as database:
        database.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
        try:
            poor = PostgresPlace(make_conninfo(place.conninfo, options=f"-c role={role}"), f"{place.schema}_2")
            with pytest.raises(IndexFailed, match=r"GRANT CREATE ON DATABASE, or set CODEBASE_INDEX=sqlite"):
                poor.create()
        finally:
            database.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_looking_creates_no_file(settings: LazySettings):
    settings.CODEBASE_INDEX = "sqlite"
    place = index_places.place_of(SHOP)
    assert isinstance(place, SqlitePlace)
    assert place.existing() is None
    assert not place.file.exists()


def test_an_index_of_another_version_is_left_to_the_one_who_writes(settings: LazySettings):
    settings.CODEBASE_INDEX = "sqlite"
    place = written(index_places.created(SHOP))
    assert isinstance(place, SqlitePlace)
    with sqlite3.connect(place.file) as database:
        database.execute("PRAGMA user_version = 999")
    assert place.existing() is None
    assert place.file.exists()


def test_files_of_indexes_are_for_sluice_alone(settings: LazySettings):
    settings.CODEBASE_INDEX = "sqlite"
    place = written(index_places.created(SHOP))
    assert isinstance(place, SqlitePlace)
    assert stat.S_IMODE(place.file.parent.stat().st_mode) == 0o700


@pytest.mark.django_db
def test_the_index_follows_the_database(settings: LazySettings):
    kind = PostgresPlace if connection.vendor == "postgresql" else SqlitePlace
    assert isinstance(index_places.place_of(SHOP), kind)
    settings.CODEBASE_INDEX = "sqlite"
    assert isinstance(index_places.place_of(SHOP), SqlitePlace)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.cluster)])
@pytest.mark.django_db(transaction=True)
def test_a_removed_project_leaves_neither_an_index_nor_a_right(kind: str, settings: LazySettings):
    if kind == "postgres" and connection.vendor != "postgresql":
        pytest.skip("DATABASE_URL names no Postgres")
    settings.CODEBASE_INDEX = kind
    kept, removed = (Project.objects.create(name=name, path=f"/code/{name}") for name in ("kept", "removed"))
    key, _ = ApiKey.objects.issue("k", projects=["kept", "removed"])
    first, second = (written(index_places.created(project.pk)) for project in (kept, removed))
    Project.objects.filter(name="removed").delete()
    assert second.existing() is None
    store = first.existing()
    assert store is not None
    store.close()
    key.refresh_from_db()
    assert key.projects == ["kept"]
    index_places.delete(kept.pk)


@pytest.mark.cluster
@pytest.mark.django_db(transaction=True)
def test_a_project_is_removed_though_its_index_cannot_be_deleted(monkeypatch: pytest.MonkeyPatch):
    if connection.vendor != "postgresql":
        pytest.skip("DATABASE_URL names no Postgres")
    monkeypatch.setattr(index_places, "_conninfo", lambda: "host=127.0.0.1 port=1")
    Project.objects.create(name="removed", path="/code/removed").delete()
    assert not Project.objects.exists()


@pytest.mark.cluster
@pytest.mark.django_db
def test_a_database_that_refuses_is_an_error_with_its_reason():
    place = PostgresPlace("host=127.0.0.1 port=1 user=sluice password=secret", "sluice_index_7")
    with pytest.raises(IndexFailed, match="sluice_index_7") as error:
        place.existing()
    assert "secret" not in f"{error.value}{place!r}"
