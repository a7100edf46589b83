"""Sets up Django for a benchmark in this process, on its own data directory and without a response cache, so that every
call is computed. Import this module first."""

import os
import tempfile
from io import StringIO

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="sluice-bench-")
os.environ["SHARED_REVISIONS"] = "false"
os.environ["CACHE_MB"] = "0"
os.environ["LOG_LEVEL"] = "WARNING"

import django

django.setup()

from django.core.management import call_command


def load_account(bookings: int = 500) -> None:
    call_command("migrate", verbosity=0)
    call_command("load_sample_data", bookings=bookings, stdout=StringIO())
