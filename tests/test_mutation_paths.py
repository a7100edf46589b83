"""`make mutation` passes over a path that does not exist, so whoever renames a file renames it there, too."""

import tomllib
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
MUTMUT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]


@pytest.mark.parametrize("option", ["only_mutate", "pytest_add_cli_args_test_selection", "also_copy"])
def test_the_paths_of_make_mutation_exist(option: str):
    assert [path for path in MUTMUT[option] if not (ROOT / path).exists()] == []
