"""The files that list settings say what the code says."""

import re

import pytest

from context_protection.core.policy import SETTINGS
from tests.settings_reference import ROOT, pages

READ = re.compile(r"""\benv\.\w+\(\s*"([A-Z_]+)\"""")


@pytest.mark.parametrize(("path", "text"), pages().items(), ids=[path.name for path in pages()])
def test_the_settings_of_the_policy_are_listed_as_they_are_declared(path, text):
    assert path.read_text() == text, "run `make docs`"


def test_every_variable_that_is_read_is_explained():
    read = set(READ.findall((ROOT / "gateway/settings.py").read_text()))
    assert len(read) > 40
    explained = set(re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert read - explained == set()


def test_a_variable_of_the_policy_has_no_other_meaning():
    read = set(READ.findall((ROOT / "gateway/settings.py").read_text()))
    assert read & {each.variable for each in SETTINGS.values()} == set()


def test_every_setting_of_the_policy_is_read_somewhere():
    code = [path.read_text() for folder in ("context_protection", "gateway") for path in (ROOT / folder).rglob("*.py")]
    read = set(re.findall(r"(?:(?<=policy\.)|(?<=self\.))\w+", "\n".join(code)))
    assert SETTINGS.keys() - read == set(), "declared in Policy, but without an effect"
