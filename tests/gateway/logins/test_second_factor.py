"""The second factor: switched on, asked for, recovered, switched off, reset and required."""

import base64
import logging
import re
import time
from html import unescape
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from gateway.logins import second_factor, second_step, totp
from gateway.logins.models import RecoveryCode, SecondFactor, SecurityEvent
from gateway.upstreams.auth.rotation import count_by_key
from gateway.upstreams.auth.vault import vault
from tests import authenticator
from tests.admin_walk import is_login

pytestmark = pytest.mark.django_db

LOGIN, CODE, PAGE, INDEX = "/admin/login/", "/admin/login/code/", "/admin/second-factor/", "/admin/"
PASSWORD = "orchard-lantern-52"
START = 1_800_000_000
SecurityEventKind = SecurityEvent.SecurityEventKind


class Clock:
    """What `time.time` says, for the codes."""

    now = float(START)

    def time(self) -> float:
        return self.now

    def next(self) -> None:
        """Until the app shows another code."""
        self.now += totp.STEP_SECONDS


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(second_factor, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


class Phone:
    """A member of staff whose app has a secret, and ten recovery codes."""

    def __init__(self, user: User, clock: Clock) -> None:
        self.user, self.clock, self.secret = user, clock, totp.new_secret()
        switched = second_factor.switch_on(user, self.secret, self.code)
        assert switched is not None
        self.factor, self.recovery_codes = switched
        clock.next()

    @property
    def code(self) -> str:
        return authenticator.code_at(self.secret, self.clock.now)


@pytest.fixture
def clerk() -> User:
    return User.objects.create_superuser("clerk", password=PASSWORD)


@pytest.fixture
def phone(clerk: User, clock: Clock) -> Phone:
    return Phone(clerk, clock)


def sent_password(client: Client, **more: str) -> Any:
    return client.post(LOGIN, {"username": "clerk", "password": PASSWORD, **more})


def logged_in(code: str, client: Client | None = None) -> Client:
    client = client or Client()
    assert sent_password(client)["Location"] == CODE
    response = client.post(CODE, {"code": code})
    assert response.status_code == 302, text(response)
    return client


def text(response: Any) -> str:
    return unescape(response.content.decode())


def is_in(client: Client) -> bool:
    return bool(client.get(INDEX).status_code == 200)


def kinds() -> list[str]:
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


# -- Login ------------------------------------------------------------------------------------------


def test_without_one_the_password_is_enough(clerk: User):
    client = Client()
    assert sent_password(client)["Location"] == INDEX
    assert is_in(client)


def test_the_password_alone_opens_nothing(phone: Phone):
    client = Client()
    sent_password(client)
    for path in (INDEX, PAGE, "/admin/telemetry/telemetryrecord/", "/admin/password_change/"):
        assert is_login(client.get(path)), path
    assert SecurityEventKind.LOGIN not in kinds()


def test_the_code_logs_in_under_another_session_key(phone: Phone):
    client = Client()
    sent_password(client)
    key = client.session.session_key
    client.post(CODE, {"code": phone.code})
    assert is_in(client)
    assert client.session.session_key != key
    assert second_step.WAITING not in client.session
    assert kinds() == [SecurityEventKind.LOGIN]


def test_spaces_in_a_code_are_no_mistake(phone: Phone):
    assert is_in(logged_in(f" {phone.code[:3]} {phone.code[3:]} "))


def test_a_code_works_once(phone: Phone):
    logged_in(phone.code)
    client = Client()
    sent_password(client)
    response = client.post(CODE, {"code": phone.code})
    assert response.status_code == 200
    assert "was used already" in text(response)
    assert not is_in(client)


def test_an_older_code_than_the_last_one_is_refused(phone: Phone, clock: Clock):
    older = phone.code
    clock.next()
    logged_in(phone.code)
    assert second_factor.prove(phone.factor, older) is None


def test_the_code_that_switched_it_on_does_not_log_in(clerk: User, clock: Clock):
    secret = totp.new_secret()
    code = authenticator.code_at(secret, clock.now)
    factor, _ = second_factor.switch_on(clerk, secret, code) or pytest.fail("not switched on")
    assert second_factor.prove(factor, code) is None


def test_guesses_of_codes_lock_out_and_the_password_does_not_forgive_them(phone: Phone):
    client = Client()
    for _ in range(5):
        assert sent_password(client)["Location"] == CODE
        assert client.post(CODE, {"code": "000000"}).status_code == 200
    refused = client.post(CODE, {"code": phone.code}, headers={"accept": "text/html"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert sent_password(Client()).status_code == 429
    assert kinds().count(SecurityEventKind.SECOND_FACTOR_FAILED) == 5
    assert kinds().count(SecurityEventKind.LOCKED_OUT) == 1
    call_command("unlock_login", "clerk")
    assert is_in(logged_in(phone.code))


def test_recovery_codes_are_guessed_no_more_often(phone: Phone):
    client = Client()
    sent_password(client)
    answers = [client.post(f"{CODE}?recovery", {"code": "AAAA-BBBB-CCCC-DDDD"}).status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]


def test_nobody_comes_to_the_code_without_the_password():
    for client in (Client(), Client(headers={"cookie": "sessionid=nothing"})):
        assert client.get(CODE)["Location"] == LOGIN
        assert client.post(CODE, {"code": "000000"})["Location"] == LOGIN


def test_the_code_may_come_ten_minutes_after_the_password(phone: Phone):
    client = Client()
    sent_password(client)
    assert 590 < client.session[second_step.WAITING]["until"] - time.time() <= 600


@pytest.mark.parametrize("change", ["late", "password", "inactive", "off"])
def test_what_changes_meanwhile_ends_the_login(phone: Phone, change: str):
    client = Client()
    sent_password(client)
    match change:
        case "late":
            session = client.session
            session[second_step.WAITING] = {**session[second_step.WAITING], "until": 1}
            session.save()
        case "password":
            phone.user.set_password("cedar-harbour-77")
            phone.user.save()
        case "inactive":
            User.objects.update(is_active=False)
        case "off":
            phone.factor.delete()
    assert client.post(CODE, {"code": phone.code})["Location"] == LOGIN
    assert not is_in(client)


@pytest.mark.parametrize(
    ("asked", "led"),
    [
        ("/admin/access/apikey/", "/admin/access/apikey/"),
        ("https://elsewhere.example.com/", INDEX),
        ("//elsewhere.example.com/", INDEX),
        ("javascript:alert(1)", INDEX),
    ],
)
def test_a_login_leads_to_pages_of_this_host_only(phone: Phone, asked: str, led: str):
    client = Client()
    sent_password(client, next=asked)
    assert client.post(CODE, {"code": phone.code})["Location"] == led


# -- Recovery codes ---------------------------------------------------------------------------------


def test_each_recovery_code_logs_in_once(phone: Phone):
    for code in phone.recovery_codes:
        assert is_in(logged_in(code))
    assert RecoveryCode.objects.count() == 0
    assert kinds() == [SecurityEventKind.RECOVERY_CODE_USED, SecurityEventKind.LOGIN] * 10
    client = Client()
    sent_password(client)
    assert client.post(CODE, {"code": phone.recovery_codes[0]}).status_code == 200
    assert not is_in(client)


def test_a_recovery_code_is_read_as_people_type_it(phone: Phone):
    assert is_in(logged_in(phone.recovery_codes[0].replace("-", " ").lower()))


def test_it_is_said_how_many_recovery_codes_are_left(phone: Phone):
    client = logged_in(phone.recovery_codes[0])
    assert "9 recovery codes are left" in text(client.get(INDEX))
    for code in phone.recovery_codes[1:8]:
        logged_in(code)
    assert "1 recovery code is left" in text(logged_in(phone.recovery_codes[8]).get(INDEX))


# -- Its own page -----------------------------------------------------------------------------------


def offered(response: Any) -> tuple[str, str]:
    """The sealed secret and the secret, of the page that shows both."""
    page = text(response)
    setup, secret = re.search(r'name="setup" value="([^"]+)"', page), re.search(r"<code>([A-Z2-7 ]+)</code>", page)
    assert setup, page
    assert secret, page
    return setup[1], secret[1].replace(" ", "")


def test_staff_switch_it_on(clerk: User, clock: Clock):
    client, elsewhere = Client(), Client()
    sent_password(client)
    sent_password(elsewhere)
    assert f'href="{PAGE}"' in text(client.get(INDEX))
    page = client.get(PAGE)
    setup, secret = offered(page)
    assert "<svg" in text(page)
    assert "no-store" in page["Cache-Control"]
    wrong = client.post(PAGE, {"setup": setup, "code": "000000"})
    assert offered(wrong) == (setup, secret)
    assert "not the one that the app shows" in text(wrong)
    assert not SecondFactor.objects.exists()

    key = client.session.session_key
    done = client.post(PAGE, {"setup": setup, "code": authenticator.code_at(secret, clock.now)})
    codes = re.findall(r"<li><code>([A-Z2-7-]+)</code>", text(done))
    assert len(set(codes)) == 10
    assert client.session.session_key != key
    assert is_in(client)
    assert not is_in(elsewhere), "a session that has not proved it"
    assert codes[0] not in text(client.get(PAGE))
    assert SecurityEventKind.SECOND_FACTOR_ON in kinds()
    clock.next()
    assert is_in(logged_in(authenticator.code_at(secret, clock.now)))
    assert is_in(logged_in(codes[3]))


def test_a_secret_that_was_offered_to_somebody_else_is_not_taken(clerk: User, clock: Clock):
    other = Client()
    other.force_login(User.objects.create_user("other", is_staff=True))
    setup, secret = offered(other.get(PAGE))
    client = Client()
    sent_password(client)
    code = authenticator.code_at(secret, clock.now)
    assert client.post(PAGE, {"setup": setup, "code": code})["Location"] == PAGE
    assert client.post(PAGE, {"setup": "forged", "code": code})["Location"] == PAGE
    assert not SecondFactor.objects.exists()


def test_new_recovery_codes_make_the_former_void(phone: Phone, clock: Clock):
    client = logged_in(phone.code)
    clock.next()
    page = client.post(PAGE, {"do": "renew", "code": phone.code})
    codes = re.findall(r"<li><code>([A-Z2-7-]+)</code>", text(page))
    assert second_factor.prove(phone.factor, phone.recovery_codes[0]) is None
    assert second_factor.prove(phone.factor, codes[0]) is second_factor.Proof.RECOVERY_CODE
    assert SecurityEventKind.RECOVERY_CODES_RENEWED in kinds()


def test_it_is_switched_off_with_a_code_only(phone: Phone, clock: Clock):
    client = logged_in(phone.code)
    assert client.post(PAGE, {"do": "off", "code": phone.code}).status_code == 200  # used already
    assert client.post(PAGE, {"do": "off"}).status_code == 200
    assert SecondFactor.objects.exists()
    clock.next()
    assert client.post(PAGE, {"do": "off", "code": phone.code}).status_code == 302
    assert not SecondFactor.objects.exists()
    assert is_in(client)
    assert kinds()[-1] == SecurityEventKind.SECOND_FACTOR_OFF


def test_guesses_on_its_page_lock_out(phone: Phone):
    client = logged_in(phone.code)
    answers = [client.post(PAGE, {"do": "off", "code": "000000"}).status_code for _ in range(6)]
    assert answers == [200] * 5 + [429]


def test_nobody_but_staff_comes_to_its_page():
    anonymous, visitor = Client(), Client()
    visitor.force_login(User.objects.create_user("visitor"))
    for client in (anonymous, visitor):
        assert is_login(client.get(PAGE))
        assert is_login(client.post(PAGE, {"code": "000000"}))


def test_its_page_leads_to_pages_of_this_host_only(clerk: User, clock: Clock):
    client = Client()
    sent_password(client)
    setup, secret = offered(client.get(f"{PAGE}?next=https://elsewhere.example.com/"))
    code = authenticator.code_at(secret, clock.now)
    done = client.post(PAGE, {"setup": setup, "code": code, "next": "https://elsewhere.example.com/"})
    assert f'href="{INDEX}" class="go-on"' in text(done)
    assert "elsewhere" not in text(done)


# -- Required ---------------------------------------------------------------------------------------


def test_where_it_is_required_staff_are_led_to_it_and_to_nothing_else(clerk: User, clock: Clock, settings: Any):
    settings.REQUIRE_SECOND_FACTOR = True
    client = Client()
    sent_password(client)
    for path in (INDEX, "/admin/telemetry/telemetryrecord/", "/admin/password_change/"):
        led = client.get(path, follow=True)
        assert led.redirect_chain[-1][0].startswith(PAGE), path
        assert client.post(path).status_code == 302
    assert client.get("/metrics").status_code == 401
    page = client.get(f"{PAGE}?next=/admin/access/apikey/")
    assert "requires a second factor" in text(page)
    setup, secret = offered(page)
    code = authenticator.code_at(secret, clock.now)
    done = client.post(PAGE, {"setup": setup, "code": code, "next": "/admin/access/apikey/"})
    assert 'href="/admin/access/apikey/" class="go-on"' in text(done)
    assert is_in(client)


def test_who_has_to_set_it_up_can_log_out_instead(clerk: User, settings: Any):
    settings.REQUIRE_SECOND_FACTOR = True
    client = Client()
    sent_password(client)
    assert reverse("admin:logout") in text(client.get(PAGE))
    client.post(reverse("admin:logout"))
    assert is_login(client.get(PAGE))


# -- Reset ------------------------------------------------------------------------------------------


def test_a_superuser_resets_it_in_the_admin(phone: Phone):
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    shown = text(boss.get(f"/admin/logins/secondfactor/{phone.factor.pk}/change/"))
    assert phone.factor.sealed_secret not in shown
    assert boss.post(f"/admin/logins/secondfactor/{phone.factor.pk}/delete/", {"post": "yes"}).status_code == 302
    client = Client()
    assert sent_password(client)["Location"] == INDEX
    event = SecurityEvent.objects.get(kind=SecurityEventKind.SECOND_FACTOR_RESET)
    assert (event.name, event.by) == ("clerk", "boss")


def test_several_are_reset_with_an_event_each(phone: Phone, clock: Clock):
    Phone(User.objects.create_user("cook", is_staff=True), clock)
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    chosen = list(SecondFactor.objects.values_list("pk", flat=True))
    boss.post("/admin/logins/secondfactor/", {"action": "delete_selected", "_selected_action": chosen, "post": "yes"})
    assert not SecondFactor.objects.exists()
    assert kinds().count(SecurityEventKind.SECOND_FACTOR_RESET) == 2


@pytest.mark.parametrize("role", ["viewer", "engineer", "ops"])
def test_whoever_is_no_admin_does_not_reset_it(phone: Phone, role: str):
    user = User.objects.create_user("manager", is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    client = Client()
    client.force_login(user)
    response = client.post(f"/admin/logins/secondfactor/{phone.factor.pk}/delete/", {"post": "yes"})
    assert response.status_code == 403
    assert SecondFactor.objects.exists()


def test_a_command_resets_it(phone: Phone):
    call_command("reset_second_factor", "clerk")
    assert sent_password(Client())["Location"] == INDEX
    assert SecurityEvent.objects.get(kind=SecurityEventKind.SECOND_FACTOR_RESET).by == "manage.py"
    with pytest.raises(CommandError, match="clerk has no second factor"):
        call_command("reset_second_factor", "clerk")
    with pytest.raises(CommandError, match="There is no user nobody"):
        call_command("reset_second_factor", "nobody")


# -- Secrets ----------------------------------------------------------------------------------------


def test_neither_the_database_nor_the_log_has_a_secret_or_a_code(phone: Phone, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    code = phone.code
    logged_in(code)
    logged_in(phone.recovery_codes[0])
    client = Client()
    sent_password(client)
    client.post(CODE, {"code": "314159"})
    rows = [SecondFactor, RecoveryCode, SecurityEvent]
    everything = repr([list(model._default_manager.values()) for model in rows])
    everything += repr([vars(record) for record in caplog.records if record.name.startswith("gateway")])
    raw = base64.b32decode(phone.secret)
    for secret in (phone.secret, raw.hex(), repr(raw)[2:-1], code, "314159", *phone.recovery_codes):
        assert secret not in everything
        assert secret.replace("-", "") not in everything


def test_a_secret_that_no_key_opens_can_be_replaced_by_a_recovery_code(phone: Phone, settings: Any):
    settings.SECRET_KEY = "another-key-than-before-0123456789-abcdefgh"
    client = Client()
    sent_password(client)
    response = client.post(CODE, {"code": phone.code})
    assert "can no longer be opened" in text(response)
    assert client.post(CODE, {"code": phone.recovery_codes[0]}).status_code == 302
    assert is_in(client)


def test_rotation_seals_it_anew(phone: Phone, settings: Any):
    settings.CREDENTIAL_KEYS = ["a-newer-key-that-seals-0123456789-abcdefgh"]
    assert count_by_key().former >= 1  # what Hostaway's store seals stands beside it
    call_command("rotate_credentials")
    assert count_by_key().former == 0
    phone.factor.refresh_from_db()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "yet-another-0123456789-abcdefghijklmnopqrs", []
    assert vault().open(phone.factor.sealed_secret, upstream="") == phone.secret
    assert django_settings.CREDENTIAL_KEYS
