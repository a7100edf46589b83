"""Variables of the environment: empty is not set, odd values are refused by name."""

import os
import re
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from context_protection.checks import environment_makes_sense
from context_protection.core.policy import SETTINGS
from gateway.environment import Environment, check_secret_key
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
    """What a command of manage.py writes if it does not start. Fails if it starts."""
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
