"""What a server loads, and what it leaves out."""

import os
import subprocess
import sys
from pathlib import Path

LOADED = """
import gc, sys, threading
import django
gc.disable()
django.setup()
import gateway.asgi
print(gc.isenabled(), gc.get_freeze_count() > 100_000)
print([name for name in ("ctok", "redis", "psycopg", "pygit2", "duckdb") if name in sys.modules])
"""


def test_an_embedded_server_loads_no_driver_and_no_vocabulary_before_it_listens(tmp_path: Path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["True True", "[]"]
