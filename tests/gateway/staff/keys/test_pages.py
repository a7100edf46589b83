"""The pages at /admin/keys/: the list, a new secret, the first call, rotation and revocation."""

import html
import re
from datetime import UTC, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from context_protection.configuration.revisions import revisions
from context_protection.core.errors import NotAuthenticated
from gateway.access.callers import caller_of_key
from gateway.access.models import ApiKey, ToolSet
from gateway.staff.keys import usage
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


def test_errors_do_not_count_towards_the_quota_in_the_list(admin_client: Client, bot: tuple[ApiKey, str]):
    now = timezone.now()
    failed = {"outcome": "error", "origin": "caller", "error_reason": "invalid_limit"}
    stored(
        a_call(caller="ci-bot", at=now, claude_tokens=212_000),
        a_call(caller="ci-bot", at=now, claude_tokens=900, **failed),
    )
    assert "212,000 of 500,000" in words(admin_client.get(KEYS))


@pytest.mark.parametrize("name", ["!desk", "desk*"])
def test_the_use_of_a_quota_is_that_of_the_key_whatever_its_name(name: str):
    key, _ = ApiKey.objects.issue(name, daily_tokens=500_000)
    now = timezone.now()
    stored(
        a_call(caller=name, at=now, claude_tokens=1_000),
        *[a_call(caller="desk-2", at=now, claude_tokens=5)] * 3,
    )
    assert usage.of_quotas([key], now) == {name: 1_000}


def test_the_list_has_every_key_on_its_pages(admin_client: Client):
    for n in range(60):
        ApiKey.objects.issue(f"bot-{n:02}")[0].revoke()
    first = html.unescape(admin_client.get(KEYS, {"state": "revoked", "sort": "-key"}).content.decode())
    assert re.findall(r">(bot-\d\d)<", first) == [f"bot-{n:02}" for n in range(59, 9, -1)]
    assert "1 to 50 of 60" in first
    second = html.unescape(
        admin_client.get(re.search(r'href="([^"#]+)#table-keys" rel="next"', first)[1]).content.decode()
    )
    assert re.findall(r">(bot-\d\d)<", second) == [f"bot-{n:02}" for n in range(9, -1, -1)]
    back = re.search(r'href="([^"#]+)#table-keys" rel="prev"', second)[1]
    assert html.unescape(admin_client.get(back).content.decode()).count(">bot-") == 50


def test_the_revoked_keys_stay_listed_in_another_order(admin_client: Client):
    for name in ("old-a", "old-b"):
        ApiKey.objects.issue(name)[0].revoke()
    text = html.unescape(admin_client.get(KEYS, {"state": "revoked"}).content.decode())
    turned = re.search(r'aria-sort="ascending"><a href="([^"#]+)', text)[1]
    assert re.findall(r"old-[ab]", words(admin_client.get(turned)))[:2] == ["old-b", "old-a"]


def test_a_key_that_was_never_used_says_so(admin_client: Client, bot: tuple[ApiKey, str]):
    assert "never" in words(admin_client.get(KEYS))
    assert "No key is active" not in words(admin_client.get(KEYS))


def test_an_expired_key_cannot_call_on_any_page(admin_client: Client, bot: tuple[ApiKey, str]):
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(days=3))
    shown = words(admin_client.get(KEYS))
    assert "No key is active, so no client can call." in shown
    assert "expired" in shown
    assert '<td class="field-state">expired</td>' in admin_client.get("/admin/access/apikey/").content.decode()


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


@pytest.mark.parametrize(
    "since",
    ["yesterday", "2026-13-01", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"],
)
def test_an_invalid_time_is_ignored_and_the_line_counts_from_the_keys_creation(
    admin_client: Client, bot: tuple[ApiKey, str], since: str
):
    line = f"{KEYS}{bot[0].pk}/first-call/"
    assert "Waiting for the first call of ci-bot" in words(admin_client.get(line, {"since": since}))
    stored(a_call(caller="ci-bot", at=timezone.now()))
    assert "called list_bookings at" in words(admin_client.get(line, {"since": since}))


def test_a_time_without_a_zone_is_in_utc(admin_client: Client, bot: tuple[ApiKey, str]):
    line, now = f"{KEYS}{bot[0].pk}/first-call/", timezone.now()
    stored(a_call(caller="ci-bot", at=now))
    later = (now + timedelta(minutes=1)).astimezone(UTC).replace(tzinfo=None).isoformat()
    assert "Waiting for the first call of ci-bot" in words(admin_client.get(line, {"since": later}))


@pytest.mark.parametrize("transport", ["playground", "replay"])
def test_a_call_that_staff_made_for_a_key_is_no_use_of_it(
    admin_client: Client, bot: tuple[ApiKey, str], transport: str
):
    now = timezone.now()
    ApiKey.objects.update(expires_at=now + timedelta(days=30))
    stored(a_call(caller="ci-bot", at=now, transport=transport))
    line = f"{KEYS}{bot[0].pk}/first-call/"
    assert "Waiting for the first call" in words(
        admin_client.get(line, {"since": (now - timedelta(minutes=1)).isoformat()})
    )
    assert " never " in words(admin_client.get(KEYS)), "when it was last used"


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


def test_a_rotation_warns_of_an_older_secret_only_while_that_works(admin_client: Client, bot: tuple[ApiKey, str]):
    key, _ = bot
    page, warning = f"{KEYS}{key.pk}/rotate/", "The secret from before the last rotation stops working now."
    assert warning not in words(admin_client.get(page))
    key.rotate()
    assert warning in words(admin_client.get(page))
    ApiKey.objects.update(previous_until=timezone.now() - timedelta(minutes=1))
    assert warning not in words(admin_client.get(page))


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
