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
print([name for name in sys.argv[1:] if sys.modules.get(name)])
"""
LATE = (
    *("ctok", "redis", "psycopg", "pygit2", "duckdb", "aiohttp", "requests", "rich", "httpcore2", "celery", "kombu"),
    *("gateway.urls", "gateway.logins.site", "telemetry.admin", "telemetry.migrations.0001_initial"),
)


def test_an_embedded_server_loads_before_it_listens_only_what_it_needs(tmp_path: Path):
    environment = {
        "PATH": os.environ["PATH"],
        "DATA_DIR": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "gateway.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *LATE], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["True True", "[]"]
