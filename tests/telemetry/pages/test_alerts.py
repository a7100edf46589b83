"""The pages of alerts: what fires, what people do about it, and the rules."""

import json
import re
from datetime import UTC, timedelta
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Permission, User
from django.core import mail
from django.utils import timezone

from telemetry.alert_kinds import KINDS
from telemetry.alerts import evaluation
from telemetry.models import Event
from telemetry.models.alerts import Alert, AlertRule, Channel
from tests.telemetry.alerts.examples import a_channel, only
from tests.telemetry.examples import a_call, a_summary, stored

pytestmark = pytest.mark.django_db
LIST = "/telemetry/alerts/"
RULES = f"{LIST}rules/"


@pytest.fixture
def alert() -> Alert:
    """An oversized alert that has just fired."""
    only("oversized_share")
    at = timezone.now() - timedelta(seconds=10)
    stored(*[a_call(at=at)] * 94, *[a_summary(at=at)] * 6)
    evaluation.check_alerts()
    return Alert.objects.get()


@pytest.fixture
def viewer(client):
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_telemetryrecord"))
    client.force_login(user)
    return client


def text_of(response) -> str:
    assert response.status_code in (200, 422), response.status_code
    return response.content.decode()


# -- List -------------------------------------------------------------------------------------------


def test_the_list_says_what_fires_where_and_since_when(admin_client, alert):
    html = text_of(admin_client.get(LIST))
    assert "Too many oversized answers, firing since" in html
    assert "6% of answers were over budget (limit 5%): get_booking 6 of 100 calls" in html
    assert f'href="{LIST}{alert.pk}/"' in html
    assert 'aria-label="Acknowledge Too many oversized answers"' in html


def test_no_alert_is_said_and_a_dead_checker_is_not_health(admin_client):
    html = text_of(admin_client.get(LIST))
    assert "No alert is open." in html
    assert "Alerts have not been checked yet. Is the beat process running?" in html
    AlertRule.objects.update(checked_at=timezone.now() - timedelta(minutes=3))
    assert "Is the beat process running?" in text_of(admin_client.get(LIST))
    AlertRule.objects.update(checked_at=timezone.now())
    assert "Is the beat process running?" not in text_of(admin_client.get(LIST))


@pytest.mark.parametrize(
    ("state", "is_shown"), [("firing", True), ("pending", False), ("no_data", False), ("ended", False), ("x", True)]
)
def test_a_tab_shows_its_state_only(admin_client, alert, state, is_shown):
    html = text_of(admin_client.get(f"{LIST}?state={state}"))
    assert (f'id="alert-{alert.pk}"' in html) is is_shown


def test_another_range_has_the_same_tab(admin_client):
    html = text_of(admin_client.get(f"{LIST}?state=firing&range=1h"))
    form = re.search(r'<form id="controls".*?</form>', html, re.S)[0]
    assert re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form) == [("state", "firing")]


def test_a_viewer_sees_alerts_and_cannot_change_them(viewer, alert):
    html = text_of(viewer.get(LIST))
    assert "over budget" in html
    assert "Acknowledge" not in html
    assert "Acknowledge" not in text_of(viewer.get("/telemetry/"))
    assert viewer.post(f"{LIST}{alert.pk}/acknowledge/").status_code == 403
    assert viewer.post(f"{LIST}{alert.pk}/silence/", {"until": "1h"}).status_code == 403
    refused = viewer.get(f"{RULES}new/")
    assert refused.status_code == 403
    assert "cannot edit alert rules" in refused.content.decode()
    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.silenced_until) == (None, None)


def test_visitors_are_sent_to_the_login(client, alert):
    for url in (LIST, f"{LIST}{alert.pk}/", RULES, f"{LIST}history.csv"):
        assert client.get(url).status_code == 302


# -- One alert --------------------------------------------------------------------------------------


def test_an_alert_shows_its_condition_its_tools_and_what_happened(admin_client, alert):
    html = text_of(admin_client.get(f"{LIST}{alert.pk}/"))
    assert "It fires when more than 5% of answers are over their budget" in html
    assert "get_booking" in html
    assert "What happened" in html
    assert "Firing" in html
    assert "limit 5%" in html
    assert f'href="{LIST}runbooks/#oversized_share"' in html
    assert "No change of settings and no deployment in the hour before." in html


def test_an_alert_of_a_tool_with_its_own_limit_shows_that_condition_and_the_values_of_the_tool(admin_client):
    only("oversized_share", per="upstream", limits_by_tool={"get_booking": 0.5})
    at = timezone.now() - timedelta(seconds=10)
    stored(*[a_call(at=at, upstream="acme")] * 40, *[a_summary(at=at, upstream="acme")] * 60)
    evaluation.check_alerts()
    response = admin_client.get(f"{LIST}{Alert.objects.get(subject='get_booking').pk}/")
    assert "It fires when more than 50% of answers are over their budget, per tool, on tools get_booking" in text_of(
        response
    )
    (line,) = response.context["chart"].content.lines
    assert set(line.values) - {None} == {1.0}


def test_an_alert_and_its_rule_show_their_states_over_time(admin_client, alert):
    shown = text_of(admin_client.get(f"{LIST}{alert.pk}/"))
    strip = re.search(r'<svg class="strip".*?</svg>', shown, re.S)[0]
    assert "Normal" in strip
    assert "Firing" in strip
    assert '<rect class="degraded"' in strip
    rules = text_of(admin_client.get(RULES))
    assert rules.count('<svg class="strip"') == 1
    assert '<rect class="degraded"' in rules


def test_an_alert_is_acknowledged_on_now(admin_client, alert):
    html = text_of(admin_client.get("/telemetry/?range=1h"))
    assert 'aria-label="Acknowledge Too many oversized answers"' in html
    answer = admin_client.post(f"{LIST}{alert.pk}/acknowledge/", {"return_to": "/telemetry/?range=1h"})
    assert answer["Location"] == "/telemetry/?range=1h"
    html = text_of(admin_client.get("/telemetry/?range=1h"))
    assert "✓ admin" in html
    assert "Acknowledge Too" not in html


def test_a_change_shortly_before_is_named_without_blame(admin_client, alert):
    Event.objects.create(
        at=alert.started_at - timedelta(minutes=5), kind="C", summary="acme base address", actor="ops-2"
    )
    html = text_of(admin_client.get(f"{LIST}{alert.pk}/"))
    assert "acme base address, by ops-2" in html
    assert "This may be a coincidence." in html


def test_acknowledging_says_who_and_why(admin_client, alert):
    page = f"{LIST}{alert.pk}/"
    answer = admin_client.post(f"{page}acknowledge/", {"note": "month end"}, follow=True)
    html = text_of(answer)
    assert "Acknowledged by admin" in html
    assert "“month end”" in html
    assert "✓ acknowledged by admin" in text_of(admin_client.get(LIST))
    assert alert.transitions.filter(what="acknowledged", by="admin", message="month end").exists()


def test_a_note_is_stored_without_the_character_nul_which_postgres_rejects(admin_client, alert):
    text_of(admin_client.post(f"{LIST}{alert.pk}/acknowledge/", {"note": "month\0 end"}, follow=True))
    alert.refresh_from_db()
    assert alert.note == "month end"


def test_a_second_acknowledgement_does_not_replace_the_name_and_note_of_the_first(admin_client, client, alert):
    """Both have the page open, which still has the button."""
    client.force_login(User.objects.create_superuser("ops-1"))
    action = f"{LIST}{alert.pk}/acknowledge/"
    client.post(action, {"note": "I restart it"})
    html = text_of(admin_client.post(action, {"note": ""}, follow=True))
    assert "ops-1 has acknowledged it already, so nothing was changed." in html
    alert.refresh_from_db()
    assert (alert.acknowledged_by, alert.note) == ("ops-1", "I restart it")
    assert alert.transitions.filter(what="acknowledged").count() == 1


@pytest.mark.parametrize("action", ["acknowledge", "silence"])
def test_an_alert_that_has_ended_meanwhile_is_not_changed_and_the_page_says_so(admin_client, alert, action):
    Alert.objects.update(ended_at=timezone.now())
    html = text_of(admin_client.post(f"{LIST}{alert.pk}/{action}/", {"until": "1h"}, follow=True))
    assert "The alert has ended, so nothing was changed." in html
    alert.refresh_from_db()
    assert (alert.acknowledged_at, alert.silenced_until) == (None, None)
    assert admin_client.post(f"{LIST}{alert.pk + 1}/{action}/").status_code == 404


def test_a_silence_has_an_end_and_can_be_ended(admin_client, alert):
    page = f"{LIST}{alert.pk}/"
    admin_client.post(f"{page}silence/", {"until": "4h"})
    alert.refresh_from_db()
    left = alert.silenced_until - timezone.now()
    assert timedelta(hours=3, minutes=59) < left <= timedelta(hours=4)
    assert "Silenced by admin until" in text_of(admin_client.get(page))
    admin_client.post(f"{page}silence/", {"until": "end"})
    alert.refresh_from_db()
    assert alert.silenced_until is None
    html = text_of(admin_client.post(f"{page}silence/", {"until": "forever"}, follow=True))
    assert "until=&#x27;forever&#x27; is not a valid time. Expected: 1h, 4h, 08:00 or 7d." in html


def test_a_silence_until_eight_ends_at_eight_in_the_zone_of_the_page_and_the_history_says_so_in_utc(
    admin_client, alert
):
    page = f"{LIST}{alert.pk}/"
    action = re.search(r'action="([^"]*/silence/[^"]*)"', text_of(admin_client.get(f"{page}?tz=Asia/Tokyo")))[1]
    said = text_of(admin_client.post(unescape(action), {"until": "08:00"}, follow=True))
    alert.refresh_from_db()
    local = alert.silenced_until.astimezone(ZoneInfo("Asia/Tokyo"))
    assert (local.hour, local.minute, local.second) == (8, 0, 0)
    assert f"Silenced until {local:%Y-%m-%d} 08:00 (Asia/Tokyo)." in said
    (done,) = alert.transitions.filter(what="silenced")
    assert done.message == f"until {alert.silenced_until.astimezone(UTC):%Y-%m-%d} 23:00 UTC"


def test_a_silence_until_eight_uses_the_zone_of_the_browser_if_the_page_has_no_other(admin_client, alert):
    admin_client.cookies["tz"] = "Asia/Tokyo"
    shown = text_of(admin_client.get(LIST))
    admin_client.post(unescape(re.search(r'action="([^"]*/silence/[^"]*)"', shown)[1]), {"until": "08:00"})
    alert.refresh_from_db()
    assert alert.silenced_until.astimezone(ZoneInfo("Asia/Tokyo")).hour == 8


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example/telemetry/", "/admin/"])
def test_an_action_leads_back_to_these_pages_only(admin_client, alert, target):
    answer = admin_client.post(f"{LIST}{alert.pk}/silence/", {"until": "1h", "return_to": target})
    assert answer["Location"] == f"{LIST}{alert.pk}/"


def test_the_history_is_a_file_that_no_spreadsheet_computes(admin_client, alert):
    admin_client.post(f"{LIST}{alert.pk}/acknowledge/", {"note": "=1+1"})
    answer = admin_client.get(f"{LIST}history.csv")
    rows = b"".join(answer.streaming_content).decode().splitlines()
    assert rows[0].startswith("at,alert,rule,subject,what,before,after")
    assert [row.split(",")[4] for row in rows[1:]] == ["state", "acknowledged"]
    assert rows[2].endswith("'=1+1")


# -- Rules ------------------------------------------------------------------------------------------


def valid(**changes) -> dict[str, object]:
    return {
        "kind": "error_rate",
        "name": "Bookings fail",
        "is_enabled": "on",
        "tools": "list_*",
        "per": "tool",
        "origins": ["sluice", "upstream"],
        "limit": "5",
        "recovery_limit": "2",
        "minimum": "20",
        "window_seconds": "300",
        "pending_seconds": "300",
        "recovery_seconds": "180",
        "no_data": "no_data",
        "do": "save",
        **changes,
    }


def version_of(rule: AlertRule) -> str:
    return rule.changed_at.isoformat()


def test_rules_are_listed_with_their_condition_in_words(admin_client):
    html = text_of(admin_client.get(RULES))
    assert "More than 5% of calls fail, per tool, because of Sluice or the upstream" in html
    assert html.count("Switch on<") == 4


def test_a_rule_is_made_from_the_form_in_percent(admin_client):
    channel = a_channel()
    admin_client.post(f"{RULES}new/", valid(channels=[channel.pk], limit="7.5"))
    rule = AlertRule.objects.get(name="Bookings fail")
    assert (rule.limit, rule.recovery_limit, rule.window_seconds, rule.tools) == (0.075, 0.02, 300, "list_*")
    assert (rule.origins, rule.changed_by, list(rule.channels.all())) == ("sluice,upstream", "admin", [channel])
    assert Event.objects.get(kind="C").after.startswith("Notify Email a email when more than 7.5% of calls fail")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"recovery_limit": "6"}, "Recovery is at 6%, above the limit of 5%. Enter the limit or less."),
        ({"limit": "120"}, "120% is more than all. Expected: 0 to 100."),
        ({"origins": []}, "Tick at least one origin, or no error counts."),
        ({"tools": "a;b"}, "“a;b” is not a name or pattern."),
        ({"name": "Slow answers"}, "already exists"),
        ({"runbook": "javascript:alert(1)"}, "Enter an address that begins with https://, http:// or /."),
        ({"kind": "slow", "limit": "100", "minimum": "5"}, "Percentiles need 20 calls or more."),
        (
            {"kind": "oversized_share", "per": "all", "own_limits": "get_booking"},
            "Expected: list_bookings: 50, in percent.",
        ),
    ],
)
def test_what_is_wrong_in_a_form_is_named(admin_client, changes, said):
    answer = admin_client.post(f"{RULES}new/", valid(**changes))
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not AlertRule.objects.filter(shipped_as=None).exists()


def test_patterns_that_match_no_tool_are_named_and_may_be_saved(admin_client):
    changes = {
        "kind": "oversized_share",
        "per": "all",
        "tools": "list_*, !list_gone, lst_*",
        "own_limits": "get_one: 9",
    }
    warning = "No tool matches “!list_gone”, “lst_*”, “get_one” now."
    assert warning in text_of(admin_client.post(f"{RULES}new/", valid(do="show", **changes)))
    saved = admin_client.post(f"{RULES}new/", valid(**changes), follow=True)
    assert [str(message) for message in saved.context["messages"]][1:] == [warning]
    rule = AlertRule.objects.get(name="Bookings fail")
    assert warning in text_of(admin_client.get(f"{RULES}{rule.pk}/"))
    known = {**changes, "tools": "list_*, !list_documents", "own_limits": "get_booking: 9"}
    assert "No tool matches" not in text_of(admin_client.post(f"{RULES}new/", valid(do="show", **known)))


def test_the_help_of_a_field_is_read_out_with_it(admin_client):
    html = admin_client.get(f"{RULES}new/?kind=oversized_share").content.decode()
    told = re.findall(r'aria-describedby="(id_\w+_helptext)"', html)
    assert {"id_tools_helptext", "id_own_limits_helptext", "id_runbook_helptext"} <= set(told)
    assert all(f'id="{each}"' in html for each in told)


def test_the_effect_of_a_rule_is_shown_before_it_is_saved(admin_client):
    now = timezone.now()
    for hours in (3, 60):
        at = now - timedelta(hours=hours)
        stored(*[a_call(at=at)] * 80, *[a_call(at=at, outcome="error", origin="upstream")] * 20)
        later = at + timedelta(hours=1)
        stored(*[a_call(at=later)] * 100)
    html = text_of(admin_client.post(f"{RULES}new/", valid(do="show", pending_seconds="0")))
    assert "Show it here, and notify nobody, when more than 5% of calls fail, per tool, on tools list_*" in html
    assert "Would have fired 2 times in the last 7 days." in html
    assert "list_bookings): up to 20%" in html
    assert not AlertRule.objects.filter(shipped_as=None).exists()


def test_a_rule_whose_figures_have_no_past_says_so(admin_client):
    html = text_of(admin_client.get(f"{RULES}new/?kind=lost_records"))
    assert "are not stored over time" in html


@pytest.mark.parametrize("kind", [kind.value for kind in KINDS])
def test_every_kind_has_a_form_with_its_own_defaults_that_can_be_saved(admin_client, kind):
    form = admin_client.get(f"{RULES}new/?kind={kind}").context["form"]
    shown = {field.name: field.value() for field in form if field.value() is not None}
    fields = {**shown, "kind": kind, "name": "mine", "do": "save"}
    assert admin_client.post(f"{RULES}new/", fields).status_code == 302
    rule, shipped = AlertRule.objects.get(name="mine"), AlertRule.objects.get(shipped_as=kind)
    for name in (
        "limit",
        "recovery_limit",
        "minimum",
        "window_seconds",
        "pending_seconds",
        "recovery_seconds",
        "no_data",
    ):
        assert getattr(rule, name) == getattr(shipped, name), name


def test_saving_the_shipped_rule_ends_its_obedience_to_the_settings(admin_client, settings):
    settings.OVERSIZED_ALERT_SHARE = 0.3
    rule = AlertRule.objects.get(shipped_as="oversized_share")
    html = text_of(admin_client.get(f"{RULES}{rule.pk}/"))
    assert 'name="limit" value="30.0"' in html
    form = valid(
        kind="oversized_share",
        name=rule.name,
        per="all",
        limit="30",
        recovery_limit="24",
        own_limits="get_booking: 50%",
        version=version_of(rule),
    )
    admin_client.post(f"{RULES}{rule.pk}/", form)
    rule.refresh_from_db()
    assert (rule.follows_settings, rule.limit, rule.limits_by_tool) == (False, 0.3, {"get_booking": 0.5})


def test_a_rule_that_now_watches_something_else_ends_its_alerts(admin_client, alert):
    form = valid(kind="oversized_share", name=alert.rule.name, per="tool", version=version_of(alert.rule))
    admin_client.post(f"{RULES}{alert.rule.pk}/", form)
    alert.refresh_from_db()
    assert (alert.state, alert.message) == ("normal", "The rule was changed by admin.")


def test_the_test_button_shows_the_result_of_each_channel(admin_client):
    sound, refused = a_channel(), a_channel("webhook", address="http://127.0.0.1:9/hook")
    html = text_of(admin_client.post(f"{RULES}new/", valid(do="test", channels=[sound.pk, refused.pk])))
    assert "Test sent to 1 of 2 channels." in html
    assert "Email a email sent to ops@example.com." in html
    assert "Webhook a webhook: 127.0.0.1 is a private or reserved address" in html or "private or reserved" in html
    assert mail.outbox[0].subject == "[Sluice] ○ Test of the rule Bookings fail"


def test_saving_a_rule_keeps_its_channels_that_are_switched_off(admin_client):
    on, off, other = a_channel(), a_channel(name="night", is_enabled=False), a_channel(name="new", is_enabled=False)
    rule = only("error_rate")
    rule.channels.set([on, off])
    page = f"{RULES}{rule.pk}/"
    response = admin_client.get(page)
    assert "Email night (switched off)" in text_of(response)
    assert "Email new" not in text_of(response)
    assert "Notify Email a email when" in text_of(response)
    shown = {field.name: field.value() for field in response.context["form"] if field.value() is not None}
    fields = {**shown, "kind": "error_rate", "version": version_of(rule)}
    tested = text_of(admin_client.post(page, {**fields, "do": "test"}))
    assert "Test sent to 1 of 1 channel." in tested
    assert admin_client.post(page, {**fields, "do": "save"}).status_code == 302
    assert set(rule.channels.all()) == {on, off}
    rule.refresh_from_db()
    refused = {**fields, "channels": [on.pk, other.pk], "do": "save", "version": version_of(rule)}
    assert admin_client.post(page, refused).status_code == 422
    assert set(rule.channels.all()) == {on, off}, "a channel that was not offered is an error"


def test_a_rule_that_another_person_has_changed_is_not_overwritten_unseen(admin_client, client):
    """Both have opened the form. The second save says what the first one was, and keeps its own values on the page."""
    other = User.objects.create_superuser("ops-1")
    client.force_login(other)
    rule = only("error_rate")
    page = f"{RULES}{rule.pk}/"
    opened = admin_client.get(page).context["version"]
    mine = valid(name="Mine", limit="7", version=opened)
    assert client.post(page, valid(name="Theirs", limit="9", version=opened)).status_code == 302
    shown = admin_client.post(page, {**mine, "do": "show"})
    assert shown.context["version"] == opened, "to look is not to have seen their change"
    refused = admin_client.post(page, mine)
    assert refused.status_code == 409
    html = refused.content.decode()
    assert "ops-1 changed this rule while you were editing." in html
    assert "as Theirs: Show it here, and notify nobody, when more than 9% of calls fail" in html
    assert 'value="Mine"' in html
    rule.refresh_from_db()
    assert (rule.name, rule.limit, rule.changed_by) == ("Theirs", 0.09, "ops-1")
    again = {**mine, "version": refused.context["version"]}
    assert admin_client.post(page, again).status_code == 302
    rule.refresh_from_db()
    assert (rule.name, rule.limit, rule.changed_by) == ("Mine", 0.07, "admin")


def test_a_rule_that_was_switched_off_is_not_switched_on_by_an_older_form(admin_client):
    rule = only("error_rate")
    opened = version_of(rule)
    admin_client.post(f"{RULES}{rule.pk}/switch/", {"to": "off"})
    assert admin_client.post(f"{RULES}{rule.pk}/", valid(version=opened)).status_code == 409
    rule.refresh_from_db()
    assert not rule.is_enabled


def test_a_rule_with_an_email_channel_without_recipients_does_not_promise_a_message(admin_client, settings):
    """The shipped channel has no recipients before ALERT_EMAILS is set."""
    settings.ALERT_EMAILS = []
    rule = only("error_rate")
    channel = Channel.objects.get(follows_settings=True)
    rule.channels.set([channel])
    page = f"{RULES}{rule.pk}/"
    typed = valid(name=rule.name, channels=[channel.pk], version=version_of(rule))
    for html in (text_of(admin_client.get(page)), text_of(admin_client.post(page, {**typed, "do": "show"}))):
        assert "Show it here, and notify nobody, when" in html
    admin_client.post(page, typed)
    assert Event.objects.get(kind="C").after.startswith("Show it here, and notify nobody, when")
    settings.ALERT_EMAILS = ["ops@example.com"]
    assert f"Notify {channel} when" in text_of(admin_client.get(page))


def test_rules_are_switched_and_only_own_ones_deleted(admin_client):
    shipped = AlertRule.objects.get(shipped_as="slow")
    admin_client.post(f"{RULES}{shipped.pk}/switch/", {"to": "on"})
    shipped.refresh_from_db()
    assert (shipped.is_enabled, shipped.changed_by) == (True, "admin")
    assert admin_client.post(f"{RULES}{shipped.pk}/delete/").status_code == 404
    admin_client.post(f"{RULES}new/", valid())
    own = AlertRule.objects.get(name="Bookings fail")
    admin_client.post(f"{RULES}{own.pk}/delete/")
    assert not AlertRule.objects.filter(pk=own.pk).exists()


# -- Runbooks, channels -----------------------------------------------------------------------------


def test_every_kind_of_rule_has_a_runbook(admin_client):
    html = text_of(admin_client.get(f"{LIST}runbooks/"))
    for kind in KINDS:
        assert f'id="{kind.value}"' in html, kind
    assert "<b>Means</b>" in html
    assert "<em>See the calls</em>" in html
    assert "<code>upstream_timeout</code>" in html


def test_a_channel_keeps_its_secret_sealed_and_never_shows_it(admin_client, settings):
    settings.ALLOW_PRIVATE_UPSTREAMS = False
    add = "/admin/telemetry/channel/add/"
    form = {"name": "bridge", "kind": "webhook", "address": "https://hooks.example.com/x", "is_enabled": "on"}
    assert "Enter the key that signs each message" in text_of(admin_client.post(add, form))
    admin_client.post(add, {**form, "secret": "very-secret-signing-key"})
    channel = Channel.objects.get(name="bridge")
    assert channel.sealed_secret
    assert "very-secret" not in channel.sealed_secret
    page = f"/admin/telemetry/channel/{channel.pk}/change/"
    assert "very-secret" not in text_of(admin_client.get(page))
    admin_client.post(page, form)
    channel.refresh_from_db()
    assert channel.sealed_secret, "an empty field keeps it"
    html = text_of(admin_client.post(add, {**form, "name": "b", "secret": "s", "address": "http://127.0.0.1/x"}))
    assert "private or reserved address" in html


def test_the_shipped_channel_shows_whose_addresses_it_has(admin_client, settings):
    settings.ALERT_EMAILS = ["ops@example.com"]
    shipped = Channel.objects.get(follows_settings=True)
    assert "ops@example.com" in text_of(admin_client.get(f"/admin/telemetry/channel/{shipped.pk}/change/"))


def test_an_alert_in_json_details_is_no_html(admin_client, alert):
    Alert.objects.update(message="<script>alert(1)</script>", details={"tools": [["<img>", 1, 2]], "calls": {}})
    html = text_of(admin_client.get(f"{LIST}{alert.pk}/"))
    assert "<script>alert(1)" not in html
    assert "<img>" not in html
    assert json.dumps("&lt;img&gt;")[1:-1] in html
