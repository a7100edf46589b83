"""Projects end with their test, and so do the tools that are offered for them."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings

from context_protection.configuration.revisions import revisions
from gateway.catalog.catalog import catalogue
from gateway.connectors.codebase import operations as codebase
from gateway.connectors.codebase.index.index_place import IndexPlace, PostgresPlace, SqlitePlace
from gateway.connectors.codebase.index.store import IndexStore
from gateway.connectors.codebase.indexing import index_places
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.processes import processes
from gateway.connectors.codebase.progress import IndexStatus
from tests.doors import Doors
from tests.gateway.connectors.codebase import repositories
from tests.gateway.connectors.codebase.indexes import put, text_files
from tests.gateway.connectors.codebase.query.conftest import FILES
from tests.offers import in_place

Register = Callable[[str], Project]
NewPlace = Callable[[], IndexPlace]
IN_POSTGRES = pytest.param("postgres", marks=[pytest.mark.django_db, pytest.mark.cluster])


@pytest.fixture(autouse=True)
def tools_end_with_the_projects(django_db_blocker: Any) -> Iterator[None]:
    """A later test that may not query would keep the tools that were offered before."""
    yield
    if catalogue.find("dbp_general_query"):
        with django_db_blocker.unblock():
            Project.objects.all().delete()
            revisions.bump()
            catalogue.refresh()


@pytest.fixture(params=["sqlite", IN_POSTGRES])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[NewPlace]:
    """Makes places for indexes, in each of the two stores."""
    if request.param == "sqlite":
        yield partial(_new_file, tmp_path)
        return
    if settings.EMBEDDED_DATABASE:
        pytest.skip("DATABASE_URL names no Postgres")
    made: list[PostgresPlace] = []
    yield partial(_new_schema, made)
    for place in made:
        place.delete()


def _new_file(folder: Path) -> IndexPlace:
    file = folder / f"{uuid4()}.sqlite3"
    file.touch()
    return SqlitePlace(file)


def _new_schema(made: list[PostgresPlace]) -> IndexPlace:
    made.append(PostgresPlace(index_places._conninfo(), f"test_index_{uuid4().hex}"))
    made[-1].create()
    return made[-1]


@pytest.fixture
def place(new_place: NewPlace) -> IndexPlace:
    return new_place()


@pytest.fixture
def store(place: IndexPlace) -> Iterator[IndexStore]:
    """Empty, and locked for writing."""
    with place.writing() as store:
        assert store is not None
        yield store


@pytest.fixture(scope="module")
def stopped() -> Iterator[None]:
    """The processes that answer end with the module."""
    yield
    processes.stop()


@pytest.fixture
def register(tmp_path: Path) -> Register:
    """Registers a project with a whole index."""

    def register(name: str) -> Project:
        root = repositories.new(tmp_path / name, **FILES)
        project = Project.objects.create(name=name, path=str(root))
        with index_places.created(project.pk).writing() as store:
            assert store is not None
            put(store, {each.path: each.content for each in text_files(root)})
        IndexState.objects.update_or_create(
            project=project, defaults={"status": IndexStatus.COMPLETE, "percent": 100, "total_files": len(FILES)}
        )
        revisions.bump()
        return project

    return register


@pytest.fixture
def offered(register: Register, doors: Doors) -> Iterator[None]:
    register("shop")
    doors.choose(reads_all_projects=True)
    with in_place(codebase.operations(), "codebase"):
        yield
