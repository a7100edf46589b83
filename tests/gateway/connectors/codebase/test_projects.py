"""manage.py project: which folders become projects, and what a refusal says."""

from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from tests.gateway.connectors.codebase.repositories import git, new

pytestmark = pytest.mark.django_db


def project(*arguments: str) -> str:
    out = StringIO()
    call_command("project", *arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as caught:
        project(*arguments)
    return str(caught.value)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new(tmp_path_factory.mktemp("code").resolve() / "shop", **{"src/a.py": "a = 1\n"})


def test_a_project_is_added_listed_and_removed(shop: Path):
    assert project("list") == ""
    assert project("add", "shop", str(shop)).startswith(f"Added shop: {shop}\n")
    assert project("list") == f"shop\t{shop}\tnot begun\n"
    assert "unchanged" in project("remove", "shop")
    assert project("list") == ""
    assert (shop / "src/a.py").is_file()


def test_the_path_is_stored_without_links(shop: Path, tmp_path: Path):
    (tmp_path / "link").symlink_to(shop)
    assert str(shop) in project("add", "shop", str(tmp_path / "link"))


@pytest.mark.parametrize("name", ["", "Shop", "web shop", "-shop", "s" * 33, "shop/..", "shöp", "a\n"])
def test_a_name_that_is_refused_is_told_what_is_expected(shop: Path, name: str):
    with pytest.raises(CommandError, match=r"1 to 32 lower-case letters"):
        call_command("project", "add", "--", name, str(shop))


def test_a_name_is_given_once(shop: Path):
    project("add", "shop", str(shop))
    told = refusal("add", "shop", str(shop))
    assert "already" in told
    assert str(shop) in told
    assert "project remove shop" in told


def test_an_unknown_project_is_not_removed(shop: Path):
    assert "`manage.py project list`" in refusal("remove", "shop")
    project("add", "shop", str(shop))
    assert "The nearest is 'shop'" in refusal("remove", "shp")


def test_a_folder_must_be_the_root_of_a_repository(shop: Path, tmp_path: Path):
    assert "No such file" in refusal("add", "shop", str(tmp_path / "nowhere"))
    assert "is a file" in refusal("add", "shop", str(shop / "src/a.py"))
    assert "git init" in refusal("add", "shop", str(tmp_path))
    assert f"Use the repository's root: {shop}" in refusal("add", "shop", str(shop / "src"))
    assert "it is not a path" in refusal("add", "shop", "a\0b")


def test_only_folders_below_the_roots_are_added(shop: Path, tmp_path: Path, settings: LazySettings):
    settings.PROJECT_ROOTS = [str(tmp_path)]
    assert f"not below {tmp_path}" in refusal("add", "shop", str(shop))
    (tmp_path / "shop").symlink_to(shop)
    assert f"not below {tmp_path}" in refusal("add", "shop", str(tmp_path / "shop"))
    settings.PROJECT_ROOTS = [str(tmp_path), str(shop.parent)]
    assert project("add", "shop", str(shop))


def test_a_bare_repository_is_a_project(shop: Path, tmp_path: Path):
    git(tmp_path, "clone", "-q", "--bare", str(shop), "bare.git")
    assert project("add", "shop", str(tmp_path / "bare.git"))
