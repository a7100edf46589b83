"""Variables of the environment: empty is not set, odd values are refused by name."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from context_protection.checks import environment_makes_sense
from gateway.environment import Environment

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
