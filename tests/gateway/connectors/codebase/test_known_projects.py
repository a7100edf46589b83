"""Which projects a key may read."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from context_protection.configuration.revisions import revisions
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey
from gateway.catalog.caller import Caller
from gateway.connectors.codebase.known_projects import projects_for
from gateway.connectors.codebase.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def registered() -> None:
    for name in ("web", "shop"):
        Project.objects.create(name=name, path=f"/code/{name}")
    revisions.bump()


def caller(**fields: object) -> Caller:
    _, secret = ApiKey.objects.issue("k", **fields)
    revisions.bump()
    return caller_of_key(secret)


def names(found: Caller) -> list[str]:
    return [project.name for project in projects_for(found)]


def test_a_new_key_reads_no_project():
    assert names(caller()) == []


def test_a_key_reads_the_projects_that_it_is_given():
    found = caller(projects=["shop", "gone"])
    assert names(found) == ["shop"]
    assert found.may_read("shop")
    assert not found.may_read("web")


def test_a_key_for_all_projects_reads_later_ones_too():
    found = caller(reads_all_projects=True)
    assert names(found) == ["shop", "web"]
    Project.objects.create(name="api", path="/code/api")
    revisions.bump()
    assert names(found) == ["api", "shop", "web"]


def test_a_call_asks_no_database():
    found = caller(projects=["shop"])
    assert names(found) == ["shop"]
    with CaptureQueriesContext(connection) as queries:
        assert names(found) == ["shop"]
    assert len(queries) == 0


def test_what_was_stored_for_a_caller_ends_with_its_right():
    rights = [frozenset({"shop"}), frozenset({"shop", "web"}), frozenset({"all"}), frozenset(), None]
    owners = {Caller("key:1", "k", projects=each).owner for each in rights}
    assert len(owners) == len(rights)


def test_the_command_gives_projects_to_a_new_key(capsys: pytest.CaptureFixture[str]):
    call_command("apikey", "create", "ci", "--project", "shop")
    assert ApiKey.objects.get(name="ci").projects == ["shop"]
    call_command("apikey", "create", "all", "--all-projects")
    assert ApiKey.objects.get(name="all").reads_all_projects
    with pytest.raises(CommandError, match=r"no project 'shp'\. The nearest is 'shop'"):
        call_command("apikey", "create", "ci2", "--project", "shp")
