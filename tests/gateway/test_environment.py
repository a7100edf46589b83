"""Variables of the environment: empty is not set, odd values are refused by name."""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from context_protection.checks import environment_makes_sense
from context_protection.core.policy import SETTINGS
from gateway.environment import LOG_LEVELS, Environment, check_secret_key
from tests.patience import PATIENCE
from tests.settings_reference import ROOT

env = Environment()


def test_an_empty_variable_is_not_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOMETHING", "")
    assert env.int("SOMETHING", default=5) == 5
    assert env.bool("SOMETHING", default=True) is True
    assert env.str("SOMETHING", default="x") == "x"


@pytest.mark.parametrize(("kind", "text", "expected"), [("int", "abc", "whole number"), ("float", "few", "a number")])
def test_a_value_of_another_kind_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, kind: str, text: str, expected: str
):
    monkeypatch.setenv("SOMETHING", text)
    with pytest.raises(ImproperlyConfigured, match=f"SOMETHING is '{text}'; expected .*{expected}"):
        getattr(env, kind)("SOMETHING", default=1)


def test_a_password_may_begin_with_a_dollar_sign(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ecret", "of another variable")
    monkeypatch.setenv("SOMETHING", "$ecret")
    assert env.str("SOMETHING", default="") == "$ecret"
    assert env.list("SOMETHING", default=[]) == ["$ecret"]
    with pytest.raises(ImproperlyConfigured, match=r"SOMETHING is '\$ecret'; expected a whole number"):
        env.int("SOMETHING", default=1)


def test_a_misspelt_switch_is_not_read_as_off(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOMETHING", "treu")
    with pytest.raises(ImproperlyConfigured, match="expected true or false"):
        env.bool("SOMETHING", default=False)
    monkeypatch.setenv("SOMETHING", "Yes")
    assert env.bool("SOMETHING", default=False) is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a.example,b.example", ["a.example", "b.example"]), (" a.example , b.example,, ,", ["a.example", "b.example"])],
)
def test_a_list_has_no_spaces_around_its_values_and_no_empty_ones(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
):
    monkeypatch.setenv("SOMETHING", text)
    assert env.list("SOMETHING", default=["x"]) == expected


@pytest.mark.parametrize(
    ("layer", "words"),
    [({"hard_cap": 2000}, "below tokenBudgetThreshold"), ({"ruler": "x"}, "one of: formula, claude"), ({}, "")],
)
def test_a_policy_of_the_environment_that_makes_no_sense_stops_the_start(
    settings: pytest.FixtureRequest, layer: dict[str, object], words: str
):
    settings.CONTEXT_PROTECTION = layer  # type: ignore[attr-defined]
    errors = environment_makes_sense()
    assert bool(errors) == bool(words)
    assert all(words in error.msg for error in errors)


@pytest.mark.parametrize(
    ("layer", "message", "hint"),
    [
        ({"hardcap": 9000}, "the unknown setting 'hardcap'", "rename it to hard_cap"),
        ({"colour": 1}, "the unknown setting 'colour'", "Known: default_page_size"),
        ({"chunk_size": "200"}, "chunkSize is '200'; it must be a whole number from 1 to 10,000.", "Change CHUNK_SIZE"),
        ({"summary_fields": 5}, "summaryFields is 5; it must be a text.", "summary_fields in CONTEXT_PROTECTION"),
    ],
)
def test_a_setting_that_is_misspelt_or_of_another_type_stops_the_start(
    settings: pytest.FixtureRequest, layer: dict[str, object], message: str, hint: str
):
    settings.CONTEXT_PROTECTION = layer  # type: ignore[attr-defined]
    (error,) = environment_makes_sense()
    assert message in error.msg
    assert hint in (error.hint or "")


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_no_server_starts_with_a_policy_that_exceeds_the_cap_of_all_answers(tmp_path: Path, command: str):
    refused = refused_start(tmp_path, command, HARD_CAP="99999")
    assert "hardCap is 99,999; it must be from 1,000 to 25,000." in refused
    assert "Change HARD_CAP in the environment" in refused


def refused_start(data_dir: Path, command: str, **variables: str) -> str:
    """Runs a command of manage.py, which must not start. Returns its stderr."""
    environment = {"PATH": os.environ["PATH"], "DATA_DIR": str(data_dir), "PORT": "0", **variables}
    done = subprocess.run(
        [sys.executable, "manage.py", command],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    return done.stderr


WRONG = [
    ("DATABASE_URL", "shop", "postgres://user:password@host:5432/name"),
    ("DATABASE_URL", "mysql://clerk:secret@host/shop", "postgres://user:password@host:5432/name"),
    ("DATABASE_URL", "postgres://clerk:secret@host:port/shop", "sqlite:////a/path"),
    ("REDIS_URL", "localhost:6379", "redis://host:6379/0"),
    ("REDIS_URL", "redis://:secret@localhost:port", "redis://host:6379/0"),
    ("EMAIL_URL", "smtp://clerk:secret@host:port", "smtp://user:password@host:25"),
    ("EMAIL_URL", "letter://host", "smtp://user:password@host:25"),
    ("NSIP_BASE_URL", "nsip.example/api", "http://host/api"),
    ("NSIP_BASE_URL", "http://clerk:secret@host/api", "http://host/api"),
    ("HOSTAWAY_BASE_URL", "ftp://host", "https://host/v1"),
    ("ANTHROPIC_BASE_URL", "https:///v1", "https://host"),
    ("PUBLIC_URL", "sluice.example.com", "https://host"),
    ("ALLOWED_HOSTS", "localhost,https://sluice.example.com", "hosts alone, such as sluice.example.com"),
    ("CSRF_TRUSTED_ORIGINS", "sluice.example.com", "origins, such as https://sluice.example.com"),
    ("LOG_LEVEL", "LOUD", "DEBUG, INFO, WARNING, ERROR"),
    ("LOG_FORMAT", "xml", "console, json"),
    ("TOOL_LIST_BUDGET", "-1", "0 to 1,000,000,000 tokens"),
    ("HOSTAWAY_SYNC_SECONDS", "0", "1 to 86,400 seconds"),
    ("TELEMETRY_RETENTION_DAYS", "-1", "1 to 36,500 days"),
    ("TELEMETRY_RETENTION_DAYS", "99999999", "1 to 36,500 days"),
    ("TELEMETRY_MINUTE_HOURS", "0", "1 to 876,000 hours"),
    ("TELEMETRY_HOUR_DAYS", "-1", "1 to 36,500 days"),
    ("TELEMETRY_ARGUMENT_DAYS", "-1", "0 to 36,500 days"),
    ("OVERSIZED_ALERT_SHARE", "5", "0 to 1."),
    ("OVERSIZED_ALERT_RECOVERY", "3", "0 to 1."),
    ("OVERSIZED_ALERT_WINDOW_MINUTES", "0", "1 to 1,440 minutes"),
    ("OVERSIZED_ALERT_MIN_CALLS", "-1", "0 to 1,000,000,000 calls"),
    ("AUDIT_SHARE", "1.5", "0 to 1."),
    ("CACHE_MB", "-1", "0 to 1,000,000,000 megabytes"),
    ("ANSWER_CACHE_MB", "-1", "0 to 1,000,000,000 megabytes"),
    ("PROJECT_SYNC_SECONDS", "0", "1 to 86,400 seconds"),
    ("PORT", "99999", "0 to 65,535."),
    ("FORWARDED_ALLOW_IPS", "127.0.0.1,proxy", "addresses or networks, such as 127.0.0.1 or 10.0.0.0/8"),
    ("FORWARDED_ALLOW_IPS", "10.1.0.0/8", "addresses or networks, such as 127.0.0.1 or 10.0.0.0/8"),
    ("ALERT_EMAILS", "ops@example.com,root", "email addresses, such as ops@example.com"),
    ("SSL_CERT_FILE", "/nowhere.pem", "the path of a readable file of certificates"),
    ("SSL_CERT_FILE", __file__, "the path of a readable file of certificates"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "http://collector:4318"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://clerk:secret@collector:4318", "http://collector:4318"),
]


@pytest.mark.parametrize(("name", "text", "expected"), WRONG)
def test_a_wrong_value_stops_the_start_with_what_is_expected(tmp_path: Path, name: str, text: str, expected: str):
    (sentence,) = refused_start(tmp_path, "serve", **{name: text}).splitlines()
    assert sentence.startswith(f"Configuration: {name} ")
    assert expected in sentence.partition("; expected ")[2]
    assert "secret" not in sentence


def test_proxies_are_addresses_networks_or_all(monkeypatch: pytest.MonkeyPatch):
    proxies = ["127.0.0.1", "::1", "10.0.0.0/8", "fd00::/8", "*"]
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", ", ".join(proxies))
    assert env.proxies("FORWARDED_ALLOW_IPS", default=[]) == proxies
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "")
    assert env.proxies("FORWARDED_ALLOW_IPS", default=["127.0.0.1"]) == ["127.0.0.1"]


@pytest.mark.parametrize("text", ["localhost,127.0.0.1,[::1]", "*", ".example.com,sluice"])
def test_hosts_are_names_addresses_and_patterns(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("ALLOWED_HOSTS", text)
    assert env.hosts("ALLOWED_HOSTS", default=[]) == text.split(",")
    monkeypatch.setenv("ALLOWED_HOSTS", f"{text},sluice.example.com:8000")
    with pytest.raises(ImproperlyConfigured, match=r"ALLOWED_HOSTS has 'sluice\.example\.com:8000'"):
        env.hosts("ALLOWED_HOSTS", default=[])


def test_origins_have_a_scheme_and_no_path(monkeypatch: pytest.MonkeyPatch):
    origins = ["https://*.example.com", "http://127.0.0.1:8000"]
    monkeypatch.setenv("CSRF_TRUSTED_ORIGINS", ", ".join(origins))
    assert env.origins("CSRF_TRUSTED_ORIGINS") == origins
    monkeypatch.setenv("CSRF_TRUSTED_ORIGINS", "https://sluice.example.com/")
    with pytest.raises(ImproperlyConfigured, match=r"CSRF_TRUSTED_ORIGINS has 'https://sluice\.example\.com/'"):
        env.origins("CSRF_TRUSTED_ORIGINS")


def test_the_level_of_the_log_may_be_in_small_letters(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LOG_LEVEL", "info")
    assert env.choice("LOG_LEVEL", LOG_LEVELS, default="ERROR") == "INFO"


def test_the_address_of_a_database_may_have_a_password_with_any_characters():
    found = env.database("DATABASE_URL", "postgres://clerk:p%23%40ss@host:5432/shop")
    assert (found["ENGINE"], found["PASSWORD"]) == ("django.db.backends.postgresql", "p#@ss")


def test_every_setting_of_the_policy_that_has_a_variable_is_read_from_it(tmp_path: Path):
    values = {each.variable: ("false" if each.default else "true") for each in SETTINGS.values() if each.variable}
    values |= {each.variable: str(each.range[0]) for each in SETTINGS.values() if each.range and each.variable}
    read = (
        "from gateway import settings; from context_protection.core.policy import *; "
        "print(resolve(Kind.LIST, [settings.CONTEXT_PROTECTION]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", read],
        cwd=ROOT,
        env={"DATA_DIR": str(tmp_path), **values, "RULER": "claude"},
        capture_output=True,
        text=True,
        check=True,
    )
    policy = done.stdout.strip()
    unchanged = [each.name for each in SETTINGS.values() if f"{each.name}={each.default!r}" in policy]
    assert unchanged == [name for name, setting in SETTINGS.items() if setting.one_operation_only]


# -- The file .env ----------------------------------------------------------------------------------


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str | bytes], dict[str, str]]:
    """Reads a .env file with this content into an empty environment, which is returned."""
    found: dict[str, str] = {}
    monkeypatch.setattr(Environment, "ENVIRON", found)

    def read(content: str | bytes) -> dict[str, str]:
        (tmp_path / ".env").write_bytes(content if isinstance(content, bytes) else content.encode())
        env.read_file(tmp_path / ".env")
        return found

    return read


def test_every_line_of_the_example_has_its_value_alone(read: Callable[[str], dict[str, str]]):
    """The example says: copy it and change what you need. Its comments are no values: the one of SECRET_KEY would be a
    key that everybody knows."""
    example = (ROOT / ".env.example").read_text()
    found = read(re.sub(r"^#(?=[A-Z_]+=)", "", example, flags=re.MULTILINE))
    assert len(found) > 80
    assert {name: value for name, value in found.items() if "#" in value or value != value.strip()} == {}
    assert (found["PORT"], found["SECRET_KEY"], found["WITHHELD_FIELDS"]) == ("8000", "", "")
    assert found["ALLOWED_HOSTS"] == "localhost,127.0.0.1,[::1]"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("NAME=a#b", "a#b"),
        ("NAME=#b", "#b"),
        ("NAME=a #b", "a"),
        ("NAME='a #b' # c", "a #b"),
        ('NAME="a #b"# it\'s', "a #b"),
        ("export NAME = a b \r", "a b"),
        ("\ufeffNAME=a", "a"),
        ("# NAME=b\n\n  #\nNAME=a=b", "a=b"),
        ("NAME= # b", ""),
        ("NAME=$b", "$b"),
        ("NAME='a\nb' # c", "a\nb"),
    ],
)
def test_a_comment_begins_behind_a_space(read: Callable[[str], dict[str, str]], line: str, value: str):
    assert read(line) == {"NAME": value}


@pytest.mark.parametrize(
    "content",
    ["PORT=1\n \n\nsecret", "PORT=1\r\n\r\n\r\nMY-secret=1", 'PORT=1\n\n\nMY="secret', b"PORT=\xff"],
)
def test_a_line_that_is_none_is_named_and_not_quoted(
    read: Callable[[str | bytes], dict[str, str]], content: str | bytes
):
    with pytest.raises(ImproperlyConfigured, match=r"\.env(, line 4: expected NAME=value| cannot be read)") as refused:
        read(content)
    assert "secret" not in str(refused.value)


# -- SECRET_KEY -------------------------------------------------------------------------------------

SIXTEEN = "0123456789abcdef"


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("x" * 64, "64 characters, 1 of them different"),
        ((SIXTEEN[:15] * 9)[:64], "64 characters, 15 of them different"),
        (SIXTEEN + "0" * 15, "31 characters, 16 of them different"),
        ("changeme", "8 characters, 7 of them different"),
    ],
)
def test_a_secret_key_that_could_be_guessed_is_refused_with_the_way_to_a_good_one(key: str, numbers: str):
    with pytest.raises(ImproperlyConfigured) as refused:
        check_secret_key(key)
    sentence = str(refused.value)
    assert sentence.startswith(f"SECRET_KEY has {numbers};")
    assert "SECRET_KEY_FALLBACKS" in sentence
    assert key not in sentence
    assert "\n" not in sentence


def test_a_secret_key_of_sixteen_different_characters_will_do():
    check_secret_key(SIXTEEN * 2)


def test_the_key_that_the_sentence_makes_is_accepted():
    """64 characters of 64: one with fewer than sixteen different ones does not happen."""
    with pytest.raises(ImproperlyConfigured, match=re.escape("secrets.token_urlsafe(48)")):
        check_secret_key("")
    for _ in range(1000):
        check_secret_key(secrets.token_urlsafe(48))
