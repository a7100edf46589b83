"""Every module can be imported, whatever Python runs it."""

import pkgutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

from tests.e2e.serving import ROOT

PACKAGES = ("context_protection", "gateway", "telemetry")
IMPORT_ALL = """
import importlib, sys, warnings
import django
warnings.simplefilter("error")
django.setup()
for name in sys.argv[1:]:
    importlib.import_module(name)
"""


def modules(package: str) -> list[str]:
    found = pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    return [module.name for module in found if not module.name.endswith(".__main__")]


def test_every_module_is_imported_without_a_warning(tmp_path: Path):
    """By one process: Django has imported most of them when the first is asked for."""
    found = [modules(package) for package in PACKAGES]
    assert all(len(names) > 10 for names in found)
    environment = {"DJANGO_SETTINGS_MODULE": "gateway.settings", "DATA_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *chain.from_iterable(found)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
