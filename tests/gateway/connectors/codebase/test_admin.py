"""Projects in the admin: added below the roots alone, shown with their index, removed with it."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from gateway.access.models import ApiKey
from gateway.connectors.codebase.index.index_place import IndexPlace
from gateway.connectors.codebase.indexing import index_places
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus
from tests.gateway.connectors.codebase.repositories import new

pytestmark = pytest.mark.django_db

PROJECTS = "/admin/codebase/project/"


@pytest.fixture(autouse=True)
def roots(tmp_path: Path, settings: LazySettings) -> LazySettings:
    settings.DATA_DIR = tmp_path / "data"
    settings.PROJECT_ROOTS = [str(tmp_path / "code")]
    return settings


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return new(tmp_path.resolve() / "code/shop", **{"a.py": "a = 1\n"})


def page(client: Client, address: str = "", body: dict[str, Any] | None = None) -> str:
    url = f"{PROJECTS}{address}"
    answer = client.get(url) if body is None else client.post(url, body, follow=True)
    return answer.content.decode()


def test_a_project_is_added_below_the_roots_with_a_reason(admin_client: Client, shop: Path):
    page(admin_client, "add/", {"name": "shop", "path": str(shop), "change_reason": "for the team"})
    project = Project.objects.get()
    assert (project.name, project.path) == ("shop", str(shop))
    assert project.history.get().history_change_reason == "for the team"


@pytest.mark.parametrize(
    ("name", "path", "told"),
    [
        ("shop", "/", "which is not below"),
        ("shop", "code/../..", "which is not below"),
        ("shop", "code", "is not a git repository"),
        ("Shop!", "code/shop", "1 to 32 lower-case letters"),
    ],
)
def test_other_folders_and_names_are_refused(
    admin_client: Client, shop: Path, tmp_path: Path, name: str, path: str, told: str
):
    answer = page(admin_client, "add/", {"name": name, "path": str(tmp_path / path)})
    assert told in answer
    assert not Project.objects.exists()


def test_without_roots_projects_are_added_by_the_command_alone(admin_client: Client, shop: Path, roots: LazySettings):
    roots.PROJECT_ROOTS = []
    project = Project.objects.create(name="shop", path=str(shop))
    assert "manage.py project add NAME PATH" in page(admin_client)
    assert admin_client.post(f"{PROJECTS}add/", {"name": "web", "path": str(shop)}).status_code == 403
    page(admin_client, f"{project.pk}/change/", {"name": "web", "path": "/"})
    assert Project.objects.get().path == str(shop)


def test_the_name_of_a_project_stays_since_keys_have_it(admin_client: Client, shop: Path):
    project = Project.objects.create(name="shop", path=str(shop))
    page(admin_client, f"{project.pk}/change/", {"name": "web", "path": str(shop)})
    assert Project.objects.get().name == "shop"


def test_the_list_shows_how_far_each_index_is(admin_client: Client, shop: Path):
    for name in ("shop", "web"):
        Project.objects.create(name=name, path=str(shop))
    IndexState.objects.create(
        project=Project.objects.get(name="shop"),
        status=IndexStatus.IN_PROGRESS,
        percent=45,
        processed_files=450,
        total_files=1000,
        error="",
    )
    shown = page(admin_client)
    assert "being indexed" in shown
    assert '<progress max="100" value="45"' in shown
    assert "450 of 1,000" in shown
    assert "not begun" in shown
    IndexState.objects.update(status=IndexStatus.ERROR, error="The disk is <full>.")
    assert "The disk is &lt;full&gt;." in page(admin_client)


def test_the_page_of_a_project_names_the_keys_that_read_it(admin_client: Client, shop: Path):
    project = Project.objects.create(name="shop", path=str(shop))
    ApiKey.objects.issue("desk", projects=["shop"])
    ApiKey.objects.issue("lead", reads_all_projects=True)
    ApiKey.objects.issue("visitor")
    shown = page(admin_client, f"{project.pk}/change/")
    assert "desk, lead" in shown
    assert "visitor" not in shown


def made(project_id: int) -> IndexPlace:
    place = index_places.created(project_id)
    with place.writing() as store:
        assert store is not None
    return place


def test_an_index_is_made_anew(admin_client: Client, shop: Path):
    project = Project.objects.create(name="shop", path=str(shop))
    IndexState.objects.create(project=project, status=IndexStatus.COMPLETE, percent=100)
    place = made(project.pk)
    page(admin_client, "", {"action": "make_anew", "_selected_action": [project.pk]})
    assert place.existing() is None
    assert IndexState.objects.get().status == IndexStatus.NOT_STARTED


def test_a_project_is_deleted_with_its_index(admin_client: Client, shop: Path, django_capture_on_commit_callbacks: Any):
    project = Project.objects.create(name="shop", path=str(shop))
    place = made(project.pk)
    with django_capture_on_commit_callbacks(execute=True):
        page(admin_client, f"{project.pk}/delete/", {"post": "yes"})
    assert not Project.objects.exists()
    assert place.existing() is None
    assert (shop / "a.py").exists()
