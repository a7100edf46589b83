"""The groups viewer, engineer, ops and admin, and what they say to whoever lacks one."""

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client

from gateway.logins.roles import ENGINEER, OPS, ROLES, VIEWER
from gateway.upstreams.models import UpstreamApi
from telemetry.access import refusal_words
from telemetry.read_only_admin import ReadOnlyAdmin

pytestmark = pytest.mark.django_db
BROWSER = {"accept": "text/html"}
# What only admins may, on purpose: people, sign-ins, credentials, and what brings new connections.
ADMINS_OWN = {"auth", "logins"}
ADMINS_MODELS = {"openapi.importedapi"}


def labels(group: str) -> set[str]:
    found = Group.objects.get(name=group).permissions.select_related("content_type")
    return {f"{each.content_type.app_label}.{each.codename}" for each in found}


def somebody(*roles: str) -> User:
    user = User.objects.create_user("-".join(("some", *roles)), is_staff=True)
    user.groups.set(Group.objects.filter(name__in=roles))
    return user


def test_the_groups_exist_after_migrate_with_what_is_declared():
    assert {name: labels(name) for name in ROLES} == {name: set(wanted) for name, wanted in ROLES.items()}
    assert Group.objects.get(name="admin").permissions.count() == Permission.objects.count()
    assert VIEWER < OPS
    assert VIEWER < ENGINEER


def test_a_viewer_changes_nothing_and_sees_no_values():
    assert all(".view_" in each for each in VIEWER)
    assert "telemetry.view_callarguments" not in VIEWER | OPS


def test_only_admins_touch_people_and_credentials():
    for each in VIEWER | OPS | ENGINEER:
        assert each.partition(".")[0] not in ADMINS_OWN
    assert "upstreams.change_credentials" not in VIEWER | OPS | ENGINEER


def test_every_model_of_the_admin_is_a_decision():
    undecided = []
    admin.autodiscover()  # as the first page of a process does
    for model, model_admin in admin.site._registry.items():
        meta = model._meta
        if meta.app_label in ADMINS_OWN or meta.label_lower in ADMINS_MODELS:
            continue
        is_read_only = isinstance(model_admin, ReadOnlyAdmin)
        for verb in ["view"] if is_read_only else ["view", "change"]:
            if f"{meta.app_label}.{verb}_{meta.model_name}" not in VIEWER | OPS | ENGINEER:
                undecided.append(f"{verb} {meta.label_lower}")
    assert undecided == []


def test_another_migrate_restores_the_roles_and_leaves_other_groups_alone():
    Group.objects.get(name="ops").permissions.clear()
    own = Group.objects.create(name="night shift")
    own.permissions.add(Permission.objects.get(codename="view_apikey"))
    call_command("migrate", verbosity=0)
    assert labels("ops") == OPS
    assert labels("night shift") == {"access.view_apikey"}


def test_ops_change_an_address_and_not_a_credential(client: Client):
    api = UpstreamApi.objects.create(name="acme", base_url="https://api.example.com")
    client.force_login(somebody("ops"))
    page = f"/admin/upstreams/upstreamapi/{api.pk}/change/"
    shown = client.get(page).content.decode()
    assert 'name="base_url"' in shown
    assert 'name="secret"' not in shown
    assert 'name="authentication"' not in shown
    form = client.get(page).context["adminform"].form
    sent = {name: value for name in form.fields if (value := form[name].value()) not in (None, False)}
    sent |= {"base_url": "https://api.example.com/v2", "secret": "mine", "authentication": "bearer"}
    response = client.post(page, sent)
    assert response.status_code == 302, response.context["errors"]
    api.refresh_from_db()
    assert (api.base_url, api.sealed_secret, api.authentication) == ("https://api.example.com/v2", "", "none")


def test_admins_change_credentials(client: Client):
    api = UpstreamApi.objects.create(name="acme", base_url="https://api.example.com")
    client.force_login(somebody("admin"))
    assert 'name="secret"' in client.get(f"/admin/upstreams/upstreamapi/{api.pk}/change/").content.decode()


# -- Words ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roles", "needed", "words"),
    [
        (
            ("viewer",),
            "context_protection.change_tokenbudget",
            "Your role (viewer) cannot edit token budgets. People with the role ops can; an admin gives it to you.",
        ),
        (
            ("ops", "viewer"),
            "telemetry.replay_call",
            "Your role (ops, viewer) cannot replay a recorded call. "
            "People with the role engineer can; an admin gives it to you.",
        ),
        (
            (),
            "telemetry.view_telemetryrecord",
            "You have no role yet, and cannot see calls. "
            "People with the role engineer, ops or viewer can; an admin gives it to you.",
        ),
        (
            ("ops",),
            "auth.change_user",
            "Your role (ops) cannot edit users. People with the role admin can; an admin gives it to you.",
        ),
        (("ops",), "", "Your role (ops) cannot open this page. An admin can give you another role."),
        (("ops",), "access.delete_apikey", "Nobody can delete API keys here."),
    ],
)
def test_a_refusal_names_the_role_that_may(roles: tuple[str, ...], needed: str, words: str):
    assert refusal_words(somebody(*roles), needed) == words


def test_a_page_of_the_admin_names_the_role_that_may(client: Client):
    client.force_login(somebody("viewer"))
    response = client.get("/admin/context_protection/tokenbudget/add/", headers=BROWSER)
    assert response.status_code == 403
    assert "cannot add token budgets. People with the role ops can" in response.content.decode()
    response = client.post("/admin/openapi/importedapi/import/", headers=BROWSER)
    assert "cannot add imported APIs. People with the role admin can" in response.content.decode()
