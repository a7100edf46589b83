"""Who may do what at /telemetry/: every address, as everybody who could try."""

from collections.abc import Container, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import get_resolver, reverse

from telemetry.models import SavedView
from telemetry.models.alerts import Alert, AlertRule
from tests import admin_walk as walk
from tests.telemetry.examples import a_call, stored

pytestmark = pytest.mark.django_db

# v: viewer, e: engineer, o: ops; admins may open and send it all. A page that is not here fails the walk.
# Where there is only one method, the other column is "-".
PAGES = """
                      open  send
accuracy              veo   -
alert                 veo   -
alert-acknowledge     -     o
alert-history         veo   -
alert-rule            o     o
alert-rules           veo   -
alert-silence         -     o
alerts                veo   -
call                  veo   -
caller                veo   -
callers               veo   -
calls                 veo   -
check-upstream        -     veo
delete-alert-rule     -     o
delete-view           -     veo
live                  veo   -
live-poll             veo   -
new-alert-rule        o     o
now                   veo   -
overview              veo   -
replay                -     e
runbooks              veo   -
save-view             -     veo
search                veo   -
switch-alert-rule     -     o
tool                  veo   -
tools                 veo   -
upstream              veo   -
upstreams             veo   -
"""
NAMES = {"v": "viewer", "e": "engineer", "o": "ops", "-": ""}
EVERYBODY = ("viewer", "engineer", "ops", "admin", "staff", "anonymous")
WRONG_METHOD = 405


def decided() -> dict[str, dict[str, set[str]]]:
    """The roles that may open and send each page."""
    head, *rows = (line.split() for line in PAGES.strip().splitlines())
    return {
        name: {verb: {NAMES[each] for each in roles} - {""} for verb, roles in zip(head, cells, strict=True)}
        for name, *cells in rows
    }


def addresses() -> dict[str, str]:
    """The address of every page by its name. The subjects exist where a page needs them."""
    stored(a_call(request_id="req-walk", operation="list_bookings", caller="desk"))
    rule = AlertRule.objects.create(name="mine", kind="error_rate", limit=0.5)
    numbers = {
        "alert": walk.sample(Alert, rule=rule, ended_at=None).pk,
        "alert-rule": rule.pk,
        "view": SavedView.objects.create(
            name="mine", owner=User.objects.get(username="viewer"), address="/telemetry/"
        ).pk,
    }
    texts = {"tool": "list_bookings", "caller": "desk", "upstream": "nsip", "check-upstream": "nsip"}
    found = {}
    for name, (patterns, *_) in get_resolver("telemetry.pages.urls").reverse_dict.lists():
        if not isinstance(name, str):
            continue
        _, parameters = patterns[0][0]
        values: dict[str, Any] = {"request_id": "req-walk", "name": texts.get(name)}
        values["number"] = next((pk for key, pk in reversed(numbers.items()) if key in name), None)
        found[name] = reverse(f"telemetry:{name}", kwargs={each: values[each] for each in parameters})
    return found


@pytest.fixture
def people(db: None) -> dict[str, Client]:
    clients = {name: Client(headers={"Accept": "text/html"}) for name in EVERYBODY}
    for name, client in clients.items():
        if name != "anonymous":
            user = User.objects.create_user(name, is_staff=True)
            user.groups.set(Group.objects.filter(name=name))
            client.force_login(user)
    return clients


def wrong(people: dict[str, Client], only: Container[str] | None = None) -> Iterator[str]:
    """`only`: the names of the pages to walk."""
    table, pages = decided(), addresses()
    for name in sorted(pages.keys() ^ table.keys()):
        yield f"{name} is {'a page that the table lacks' if name in pages else 'no page any more'}"
    for name in sorted(each for each in pages.keys() & table.keys() if only is None or each in only):
        for verb, method in (("open", "get"), ("send", "post")):
            yield from wrong_with(people, f"{method} {name}", method, pages[name], table[name][verb])


def wrong_with(people: dict[str, Client], label: str, method: str, path: str, may: set[str]) -> Iterator[str]:
    for who, client in people.items():
        with walk.undone(), walk.Writes() as writes:
            response = getattr(client, method)(path)
        if response.status_code == WRONG_METHOD and not may:
            continue
        is_refused = response.status_code == 403 or walk.is_login(response)
        is_allowed = who == "admin" or who in may
        if is_refused == is_allowed or response.status_code >= 500:
            yield f"{label} answers {response.status_code} to {who}"
        if is_refused and writes.found:
            yield f"{label} refuses {who} and writes {writes.found}"


def test_every_page_asks_for_its_permission(people: dict[str, Client]):
    found = list(wrong(people))
    assert not found, "\n".join(found)


def test_the_walk_finds_a_page_that_forgets_its_permission(people: dict[str, Client], monkeypatch: pytest.MonkeyPatch):
    del people["anonymous"]  # without the check, pages would ask for a user's views who is none
    monkeypatch.setattr("telemetry.access.refusal", lambda request, needed: None)
    found = list(wrong(people, only={"alert-silence", "now"}))
    assert "post alert-silence answers 302 to viewer" in found
    assert "get now answers 200 to staff" in found
