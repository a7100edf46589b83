"""A plugin of pytest for a scratch copy: before its tests run, commands of manage.py and the check for missing
migrations. In one process, because to start Django takes longer than the rest."""

import importlib

import pytest
from django.core.management import call_command
from pytest_django.plugin import blocking_manager_key


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--manage", action="append", default=[], help="a command of manage.py, with its arguments")


def pytest_sessionstart(session: pytest.Session) -> None:
    with session.config.stash[blocking_manager_key].unblock():
        for command in session.config.getoption("manage"):
            call_command(*command.split())
        call_command("makemigrations", check_changes=True, dry_run=True)
    importlib.invalidate_caches()  # the test database needs the migration that was just written
