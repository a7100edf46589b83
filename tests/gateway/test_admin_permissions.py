"""Who may do what in the admin: every address and every action, as everybody who could try."""

import copy
import json
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core import signing
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db.models import Model
from django.http import HttpResponse
from django.test import Client, override_settings
from simple_history.admin import SimpleHistoryAdmin

from context_protection.core.cached_property import cached_property
from context_protection.history import HistoryAdmin
from gateway.access.models import ApiKey
from gateway.connectors.codebase.models import IndexState, Project
from gateway.connectors.codebase.progress import IndexStatus
from gateway.connectors.hostaway.models import SyncState, WebhookEvent
from gateway.connectors.mcp_servers.models import McpServer, McpTool
from gateway.connectors.openapi.admin import ImportedOperationAdmin
from gateway.connectors.openapi.importer import import_pages, import_plan
from gateway.connectors.openapi.models import ImportDraft, ImportedApi, ImportedOperation
from gateway.staff.rollouts.models import Rollout
from gateway.upstreams.models import UpstreamApi
from telemetry.models import Event
from tests import admin_walk as walk
from tests.admin_walk import Page
from tests.environment import data_dir
from tests.gateway.connectors.codebase.repositories import new
from tests.simulators.shop import described

pytestmark = pytest.mark.django_db

# Who may do what; admins and superusers may do it all. A model or a page that is not here fails the walk.
# v: viewer, e: engineer, o: ops, -: none of them.
MODELS = """
                                    see  change  add  delete
access.apikey                       veo  o       o    o
access.connectorswitch              veo  o       o    o
access.toolset                      veo  o       o    o
codebase.project                    veo  o       o    o
auth.group                          -    -       -    -
auth.user                           -    -       -    -
context_protection.tokenbudget      veo  o       o    o
hostaway.syncstate                  veo  o       -    -
hostaway.webhookevent               veo  o       -    -
logins.secondfactor                 -    -       -    -
logins.securityevent                -    -       -    -
mcp_servers.mcpserver               veo  o       -    -
mcp_servers.mcptool                 veo  o       -    -
openapi.importedapi                 veo  -       -    -
openapi.importedoperation           veo  o       -    -
telemetry.alert                     veo  -       -    -
telemetry.channel                   veo  o       o    o
telemetry.kepttool                  veo  e       e    e
telemetry.rejectedkey               veo  -       -    -
telemetry.telemetryrecord           veo  -       -    -
telemetry.tokenaudit                veo  -       -    -
telemetry.withheldfield             veo  -       -    -
upstreams.upstreamapi               veo  o       -    -
"""
# Pages that are no model's: which roles may open them, and which may send their form.
PAGES: dict[str, tuple[str, str]] = {
    "budgets": ("veo", ""),
    "budget": ("veo", "o"),
    "undo": ("o", "o"),
    "history": ("veo", ""),
    "change": ("veo", ""),
    "cursor": ("e", "e"),
    "rollback": ("veo", "veo"),  # of what each may change
    "rollouts": ("veo", ""),
    "new": ("o", "o"),  # a rollout
    "rollout": ("veo", ""),
    "act": ("o", "o"),  # on a rollout
    "tools": ("veo", ""),
    "save": ("o", "o"),  # the switches of the tool list
    "keys": ("veo", ""),
    "rotate": ("o", "o"),
    "revoke": ("o", "o"),
    "first-call": ("veo", ""),
}
ADMIN_ONLY = {"openapi_import", "openapi_preview"}
NAMES = {"v": "viewer", "e": "engineer", "o": "ops"}
PEOPLE = ("viewer", "engineer", "ops", "admin")
PASSWORD, NEW_PASSWORD = "orchard-lantern-52", "cedar-harbour-77"
CODE = Path(data_dir).resolve() / "code"  # where projects may be
DOCUMENT = json.dumps(described("https://shop.example.com")).encode()
BASE_URL = "https://shop.example.com"
# What a form needs beside what it shows; `required` fields are filled in by the walk.
MORE: dict[str, dict[str, Any]] = {
    "budget": {"do": "save", "hard_cap": 9000},
    "password_change": {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD},
    "auth_user_add": {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD},
    "auth_user_password_change": {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD},
    "context_protection_tokenbudget_add": {"operation": "get_booking", "hard_cap": 9000},
    "upstreams_upstreamapi_add": {"base_url": "https://api.example.com"},
    "mcp_servers_mcpserver_add": {"url": "https://mcp.example.com/mcp"},
    "openapi_importedoperation_changelist": {"form-0-pinned": "on"},
    "mcp_servers_mcptool_changelist": {"form-0-enabled": "on"},
    "upstreams_upstreamapi_rename": {"name": "store", "shown": "store", "_rename": "1"},
    "mcp_servers_mcpserver_rename": {"name": "papers", "shown": "papers", "_rename": "1"},
    "codebase_project_add": {"name": "web", "path": str(CODE / "shop")},
    "telemetry_channel_add": {"kind": "email", "address": "ops@example.com"},
    "telemetry_kepttool_add": {"operation": "get_booking"},
    "openapi_import": {"file": SimpleUploadedFile("shop.json", DOCUMENT), "name": "another"},
}


SUBJECT = "list_bookings"  # of pages about one thing: a budget, a rollout
LEAD_ELSEWHERE = {"openapi_importedapi_add"}  # to the page of an import


@dataclass(frozen=True)
class Answer:
    """What a page answers to a GET."""

    status: int
    html: str
    is_login: bool
    writes: list[str]


@dataclass
class Snapshot:
    """The users, the rows, and what is wrong."""

    people: dict[str, Client]
    ids: dict[str, int]
    rows: dict[type[Model], Model]
    drafts: dict[str, str]
    event: int  # of a change
    before: dict[str, Any] = field(default_factory=dict)
    shown: dict[Page, str] = field(default_factory=dict)  # to the superuser
    answers: dict[tuple[str, str], Answer] = field(default_factory=dict)  # by user and path
    values: dict[type[Model], dict[str, Any]] = field(default_factory=dict)  # of addresses, of each model's row

    def path(self, page: Page, who: str) -> str:
        return walk.address(page, {**self._of_site, **self._of_row(page.model), "token": self.drafts[who]})

    @cached_property
    def _of_site(self) -> dict[str, Any]:
        user = self.rows[User]
        shown = {"content_type_id": Permission.objects.filter(codename="view_user").get().content_type_id}
        return {
            **shown,
            "name": SUBJECT,
            "action": "pause",
            "number": self.event,
            "object_id": user.pk,
            "app_label": "access",
            "key_number": self.rows[ApiKey].pk,
            "url": "nowhere/",
        }

    def _of_row(self, model: type[Model] | None) -> dict[str, Any]:
        if model is None:
            return {}
        if model not in self.values:
            pk = self.rows[model].pk
            history = getattr(model, "history", None)
            version = history.filter(**{model._meta.pk.attname: pk}).last().pk if history else ""
            self.values[model] = {"object_id": pk, "id": pk, "pk": pk, "version_id": version}
        return self.values[model]

    def get(self, who: str, path: str) -> Answer:
        """A page is linked from many others, and opened once."""
        if (who, path) not in self.answers:
            with walk.Writes() as writes:
                response = self.people[who].get(path)
            self.answers[who, path] = Answer(
                response.status_code, walk.text_of(response), walk.is_login(response), writes.found
            )
        return self.answers[who, path]

    def is_changed(self, tables: Container[str]) -> bool:
        return any(rows != self.before[table] for table, rows in walk.dump(tables).items())

    def sent(self, who: str, path: str, body: Mapping[str, Any]) -> tuple[Any, bool]:
        """The response to a POST, and whether it has changed anything. It is undone, a logout too."""
        client = self.people[who]
        cookies = copy.deepcopy(client.cookies)
        with walk.undone(), walk.Writes() as writes:
            response = walk.post(client, path, body)
            is_changed = self.is_changed(writes.tables)
        client.cookies = cookies
        return response, is_changed


def person(name: str, *codenames: str, **more: Any) -> tuple[Client, int]:
    """Somebody with these permissions, and with the role of this name if there is one."""
    user = User.objects.create_user(name, password=PASSWORD, is_staff=True, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    user.groups.set(Group.objects.filter(name=name))
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client, user.pk


@pytest.fixture(scope="module")
def everybody(django_db_setup: None, django_db_blocker: Any) -> Iterator[Snapshot]:
    """Made once. Each test has a transaction of its own within this one."""
    quick = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the others take their time
    new(CODE / "shop")
    changed = override_settings(PASSWORD_HASHERS=quick, PROJECT_ROOTS=[str(CODE)])
    with django_db_blocker.unblock(), changed, walk.undone():
        yield made_snapshot()


@pytest.fixture
def here(everybody: Snapshot) -> Snapshot:
    """For a test that adds users or changes the product: nothing that another test has opened."""
    return replace(everybody, people={**everybody.people}, drafts={**everybody.drafts}, shown={}, answers={})


@pytest.fixture
def as_it_is(everybody: Snapshot, here: Snapshot) -> Snapshot:
    """For a test that changes nothing: a page that another such test has opened is not opened again."""
    return replace(here, answers=everybody.answers)


def made_snapshot() -> Snapshot:
    rows = made_rows()
    known = {"superuser": person("superuser", is_superuser=True)}
    known |= {name: person(name) for name in (*PEOPLE, "staff")}
    people = {"anonymous": Client(), **{name: client for name, (client, _) in known.items()}}
    ids = {name: pk for name, (_, pk) in known.items()}
    drafts = {"anonymous": "x", **{name: draft_of(pk) for name, pk in ids.items()}}
    found = Snapshot(people, ids, rows, drafts, walk.sample(Event).pk)
    found.before = walk.dump()
    return found


def made_rows() -> dict[type[Model], Model]:
    """A row of every model in the admin, so that each of its pages has something to show and to lose."""
    plan = import_plan.plan(DOCUMENT, name="shop", source="shop.json", base_url=BASE_URL)
    api = import_plan.store(plan, chosen=[each.key for each in plan.proposals])
    ImportedOperation.objects.update(learned={"row": ["id"]})
    walk.sample(Rollout, name=SUBJECT)
    walk.sample(McpServer, name="files", url="https://mcp.example.com/mcp")
    walk.sample(McpTool, server="files", name="write", enabled=False)
    ApiKey.objects.issue("desk")
    project = walk.sample(Project, name="shop", path=str(CODE / "shop"))
    walk.sample(IndexState, project=project, status=IndexStatus.COMPLETE)
    SyncState.objects.create(resource="reservations", attempts=3)
    walk.sample(WebhookEvent, outcome=WebhookEvent.EventOutcome.FAILED)
    rows = {model: walk.sample(model) for model in admin.site._registry}
    rows[ImportedApi], rows[UpstreamApi] = api, api.upstream
    for row in rows.values():
        if hasattr(row, "history"):
            row.save()  # a version, whatever made the row
    return rows


def draft_of(user: int) -> str:
    """The token of a document that this user has read and not yet imported."""
    draft = ImportDraft.objects.create(
        name="another", base_url=BASE_URL, source="shop.json", document=zlib.compress(DOCUMENT)
    )
    return signing.dumps([draft.pk, user], salt=import_pages.SALT)


# -- What is wrong ----------------------------------------------------------------------------------


def decided() -> dict[str, dict[str, set[str]]]:
    """The roles by model, and then by see, change, add or delete."""
    head, *rows = (line.split() for line in MODELS.strip().splitlines())
    return {
        model: {verb: {NAMES[each] for each in roles if each in NAMES} for verb, roles in zip(head, cells, strict=True)}
        for model, *cells in rows
    }


DECIDED = decided()
IN_WORDS = {"changelist": "see", "history": "see", "add": "add", "delete": "delete"}


def is_allowed(who: str, page: Page, verb: str = "") -> bool:
    """Whether the table lets the user do it. `verb`: see, change, add or delete; "": what a POST to the page does."""
    if who in ("superuser", "admin"):
        return True
    if page.model is None:
        may_open, may_send = PAGES[page.name]
        return who in {NAMES[each] for each in (may_open if verb == "see" else may_send)}
    if page.name in ADMIN_ONLY:
        return False
    posted = "change" if page.action == "changelist" else IN_WORDS.get(page.action, "change")
    return who in DECIDED[page.model._meta.label_lower][verb or posted]


def wrong_with_opening(here: Snapshot, page: Page) -> Iterator[str]:
    statuses = {}
    for who in here.people:
        answer = here.get(who, here.path(page, who))
        statuses[who] = answer.status
        if who == "superuser":
            here.shown[page] = answer.html
            if answer.writes:
                yield f"GET {page} writes: {answer.writes}"
        if who == "anonymous" and page.name not in ("login", "logout") and not answer.is_login:
            yield f"GET {page} answers {answer.status} to anybody"
    if page.action in ("login", "logout"):
        return
    is_open = (page.model is None and page.name in walk.FOR_ALL_STAFF) or page.action == "redirect"
    if is_open:
        return
    verb = "see" if page.action in walk.FOR_VIEWERS or page.model is None else ""
    for who in (*PEOPLE, "staff"):
        expected = statuses["superuser"] if is_allowed(who, page, verb) else 403
        if statuses[who] != expected:
            yield f"GET {page} answers {statuses[who]} to {who} instead of {expected}"


def wrong_with_sending(here: Snapshot, page: Page) -> Iterator[str]:
    body = walk.body_of(here.shown[page], MORE.get(page.name, {}))
    response, is_changed = here.sent("superuser", here.path(page, "superuser"), body)
    harmless = page.model is None or page.action in walk.POSTS_CHANGE_NOTHING or page.name in LEAD_ELSEWHERE
    harmless |= page.action == "changelist" and not admin.site._registry[page.model].list_editable
    if not is_changed and response.status_code != 403 and not harmless:
        yield f"POST {page} changes nothing for a superuser, so that the walk proves nothing: add what it needs to MORE"
    for who in here.people:
        if who != "superuser":
            yield from wrong_with_sent(
                here, page, who, body, is_dangerous=is_changed and page.name not in walk.FOR_ALL_STAFF
            )


def wrong_with_sent(
    here: Snapshot, page: Page, who: str, body: Mapping[str, Any], *, is_dangerous: bool
) -> Iterator[str]:
    response, is_changed = here.sent(who, here.path(page, who), body)
    if who == "anonymous":
        is_refused = walk.is_login(response) or response.status_code == 405
        if is_changed or not (is_refused or page.name in ("login", "logout")):
            yield f"POST {page} answers {response.status_code} to anybody"
    elif page.name == "password_change":
        if not is_changed:
            yield f"POST {page}: {who} cannot change the own password"
    elif is_dangerous and is_allowed(who, page):
        if not is_changed:
            yield f"POST {page}: {who} may do it, and it is not done ({response.status_code})"
    elif is_changed:
        yield f"POST {page} changes something for {who}"
    elif is_dangerous and response.status_code != 403:
        yield f"POST {page} answers {response.status_code} to {who} instead of 403"


def wrong_with_actions(here: Snapshot) -> Iterator[str]:
    for model_admin, name, function in walk.actions():
        label = f"the action {name} of {model_admin.opts.label}"
        if not getattr(function, "allowed_permissions", None):
            yield f"{label} names no permissions: @admin.action(permissions=[...])"
        path = f"{walk.ROOT}{model_admin.opts.app_label}/{model_admin.opts.model_name}/"
        body = {"action": name, "_selected_action": [here.rows[model_admin.model].pk], "post": "yes"}
        response, is_changed = here.sent("superuser", path, body)
        if not is_changed and name not in model_admin.get_actions(response.wsgi_request):
            continue  # not even a superuser is offered it
        if not is_changed:
            yield f"{label} changes nothing for a superuser, so that the walk proves nothing: make such a row"
        verb = "delete" if name == "delete_selected" else "change"
        for who in here.people:
            may = is_allowed(who, Page(path, name, model_admin.model), verb)
            _, is_changed = here.sent(who, path, body)
            if is_changed != may:
                yield f"{label} is {'not ' if may else ''}done for {who}"


def wrong_with_offers(here: Snapshot, who: str, pages: Iterable[Page]) -> Iterator[str]:
    """Links that lead to a refusal, and buttons for what is not allowed."""
    seen = {f"/admin/auth/user/{here.rows[User].pk}/password/"}  # which Django's own page offers whoever opens it
    for page in pages:
        path = here.path(page, who)
        shown = walk.Shown(here.get(who, path).html)
        for link in {urljoin(path, each.partition("#")[0]) for each in shown.links}:
            place = link.partition("?")[0]  # one of the filters and orders of a list stands for all
            if link.startswith("/") and place not in seen:
                seen.add(place)
                status = here.get(who, link).status
                if status >= 400:
                    yield f"{path} shows {who} a link to {link}, which answers {status}"
        if page.model and not is_allowed(who, page, "change") and any(form.buttons for form in shown.sending):
            yield f"{path} shows {who} a button to send a form with"


def all_wrong(here: Snapshot, only: str = "") -> list[str]:
    asked = [each for each in walk.pages() if each.pattern.startswith(f"admin/{only}")]
    found = [problem for page in asked for problem in wrong_with_opening(here, page)]
    found += [problem for page in asked for problem in wrong_with_sending(here, page)]
    assert all(here.people[who].get(walk.ROOT).status_code == 200 for who in here.ids), "somebody was logged out"
    return found


# -- Tests ------------------------------------------------------------------------------------------


def none(found: Iterable[str]) -> None:
    problems = list(found)
    assert not problems, "\n".join(problems)


def test_every_address_asks_for_its_permission(as_it_is: Snapshot):
    none(all_wrong(as_it_is))


def test_every_action_asks_for_its_permission(here: Snapshot):
    none(wrong_with_actions(here))


@pytest.mark.parametrize("who", ["superuser", *PEOPLE, "staff"])
def test_nobody_is_shown_a_link_or_a_button_that_is_refused(as_it_is: Snapshot, who: str):
    none(wrong_with_offers(as_it_is, who, walk.pages()))


def test_who_may_look_at_one_thing_is_shown_no_link_to_another(here: Snapshot):
    for model in here.rows:
        name = f"only_{model._meta.model_name}"
        here.people[name], user = person(name, f"view_{model._meta.model_name}")
        here.drafts[name] = draft_of(user)
        none(wrong_with_offers(here, name, [each for each in walk.pages() if each.model is model]))


# The walk is worth what it finds: each of these forgets a permission, as a new class or action might.


def test_the_walk_finds_an_action_without_permissions(here: Snapshot, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(ImportedOperationAdmin.forget_what_was_learned, "allowed_permissions")
    found = "\n".join(wrong_with_actions(here))
    assert "the action forget_what_was_learned of openapi.ImportedOperation names no permissions" in found
    assert "the action forget_what_was_learned of openapi.ImportedOperation is done for viewer" in found


def test_the_walk_finds_a_history_that_whoever_looks_can_write(here: Snapshot, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        HistoryAdmin, "change_view", lambda self, request, pk, *more: self.history_form_post(request, pk)
    )
    monkeypatch.setattr(HistoryAdmin, "history_form_post", forgetful, raising=False)
    found = "\n".join(all_wrong(here, "context_protection/tokenbudget/"))
    assert "history/([^/]+)/$ changes something for viewer" in found


def forgetful(model_admin: Any, request: Any, pk: str) -> HttpResponse:
    """What SimpleHistoryAdmin does with a POST, whoever sends it."""
    version = model_admin.model.history.filter(**{model_admin.model._meta.pk.attname: pk}).last()
    return SimpleHistoryAdmin.history_form_view(model_admin, request, pk, str(version.pk))  # type: ignore[no-any-return]


def test_the_walk_finds_a_page_of_its_own_without_a_check(here: Snapshot, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(import_pages.ImportPages, "_check", lambda pages, request: None)
    found = all_wrong(here, "openapi/importedapi/import/")
    page = "admin/openapi/importedapi/import/<str:token>/"
    assert f"GET {page} answers 200 to staff instead of 403" in found
    assert f"POST {page} changes something for viewer" in found
    assert f"POST {page} changes something for staff" in found
