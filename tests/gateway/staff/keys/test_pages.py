"""The pages at /admin/keys/: the list, a new secret, the first call, rotation and revocation."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import NotAuthenticated
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey, ToolSet
from telemetry.models import Event
from tests.telemetry.examples import a_call, stored

pytestmark = pytest.mark.django_db
KEYS = "/admin/keys/"


def words(response) -> str:
    """The text of a page, without tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


@pytest.fixture
def bot() -> tuple[ApiKey, str]:
    return ApiKey.objects.issue("ci-bot", owner="platform", daily_tokens=500_000)


def test_the_list_shows_use_quota_owner_and_expiry(admin_client: Client, bot: tuple[ApiKey, str]):
    key, _ = bot
    key.tool_sets.add(ToolSet.objects.create(name="Shop", tools=["list_bookings"]))
    ApiKey.objects.update(reads_only=True, expires_at=timezone.now() + timedelta(days=3))
    now = timezone.now()
    stored(a_call(caller="ci-bot", at=now, claude_tokens=212_000), a_call(caller="ci-bot", at=now, claude_tokens=0))
    shown = words(admin_client.get(KEYS))
    assert "1 key can call." in shown
    assert "platform" in shown
    assert "set Shop, reading only" in shown
    assert "of 500,000" in shown
    assert "expires soon" in shown


def test_a_key_that_was_never_used_says_so(admin_client: Client, bot: tuple[ApiKey, str]):
    assert "never" in words(admin_client.get(KEYS))
    assert "No key is active" not in words(admin_client.get(KEYS))


def test_the_list_takes_as_many_queries_for_many_keys(
    admin_client: Client, bot: tuple[ApiKey, str], django_assert_max_num_queries
):
    for n in range(12):
        ApiKey.objects.issue(f"bot-{n}")
    with django_assert_max_num_queries(21):
        admin_client.get(KEYS)


def test_a_new_key_offers_90_days_and_its_page_is_never_stored(admin_client: Client):
    page = admin_client.get("/admin/access/apikey/add/")
    offered = page.context["adminform"].form["expires_at"].initial
    assert 89 <= (offered - timezone.now()).days <= 90
    made = admin_client.post("/admin/access/apikey/add/", {"name": "desk", "daily_tokens": "1000"})
    assert made.status_code == 200
    assert "no-store" in made["Cache-Control"]
    assert "messages" not in made.cookies
    assert reverse("keys:first-call", args=[ApiKey.objects.get().pk]) in made.content.decode()


def test_the_waiting_line_turns_with_the_first_call(admin_client: Client, bot: tuple[ApiKey, str]):
    key, _ = bot
    line = f"{KEYS}{key.pk}/first-call/"
    since = timezone.now()
    stored(a_call(caller="ci-bot", at=since - timedelta(minutes=1)))
    assert "Waiting for the first call of ci-bot" in words(admin_client.get(line, {"since": since.isoformat()}))
    stored(a_call(caller="ci-bot", at=since + timedelta(seconds=1), client="claude-code", client_version="2.1"))
    shown = words(admin_client.get(line, {"since": since.isoformat()}))
    assert "claude-code 2.1 called list_bookings at" in shown
    assert "since" not in shown, "it asks no more"


def test_a_rotation_asks_first_and_shows_the_new_secret_once(admin_client: Client, bot: tuple[ApiKey, str]):
    key, old = bot
    page = f"{KEYS}{key.pk}/rotate/"
    assert f"{key.prefix}…, works for 24 hours" in words(admin_client.get(page))
    made = admin_client.post(page, {"change_reason": "left in a log"})
    secret = re.search(r"<code>(slc_[\w-]{43})</code>", made.content.decode())
    assert secret
    revisions.bump()
    assert caller_of_key(secret[1]).name == caller_of_key(old).name == "ci-bot"
    assert f"The old secret {key.prefix}… works until" in words(made)
    assert key.history.first().history_change_reason == "left in a log"
    assert secret[1] not in words(admin_client.get(KEYS))


def test_a_revocation_says_what_it_stops_and_needs_a_reason(admin_client: Client, bot: tuple[ApiKey, str]):
    key, secret = bot
    now = timezone.now()
    stored(*(a_call(request_id=f"r{n}", caller="ci-bot", at=now - timedelta(minutes=n)) for n in range(3)))
    page = f"{KEYS}{key.pk}/revoke/"
    shown = words(admin_client.get(page))
    assert "ci-bot made 3 calls in 24 h, the last at" in shown
    assert "They will fail with 401 at once; open connections close within 2 s." in shown
    assert "Give a reason" in words(admin_client.post(page, {"change_reason": " "}))
    assert caller_of_key(secret).name == "ci-bot"
    assert admin_client.post(page, {"change_reason": "not used"}).status_code == 302
    revisions.bump()
    with pytest.raises(NotAuthenticated):
        caller_of_key(secret)
    assert key.history.first().history_change_reason == "not used"
    assert "ci-bot" in words(admin_client.get(f"{KEYS}?state=revoked"))
    assert admin_client.post(page, {"change_reason": "again"}).status_code == 404


def test_the_history_tells_of_a_rotation_and_of_a_revocation(
    admin_client: Client, bot: tuple[ApiKey, str], django_capture_on_commit_callbacks
):
    for action in ("rotate", "revoke"):
        with django_capture_on_commit_callbacks(execute=True):
            admin_client.post(f"{KEYS}{bot[0].pk}/{action}/", {"change_reason": f"to {action} it"})
    revoked, rotated = Event.objects.filter(subject="ci-bot").order_by("-pk")
    assert (rotated.summary, rotated.reason, rotated.actor) == ("ci-bot: secret changed.", "to rotate it", "admin")
    assert (revoked.summary, revoked.reason) == ("ci-bot was revoked.", "to revoke it")
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", revoked.after)
