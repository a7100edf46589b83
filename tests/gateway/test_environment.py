"""Variables of the environment: empty is not set, odd values are refused by name."""

import re
import secrets

import pytest
from django.core.exceptions import ImproperlyConfigured

from context_protection.checks import environment_makes_sense
from gateway.environment import Environment, check_secret_key

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
