"""The first start: database, sample account, first admin and key, and the configuration to paste into clients."""

import os
import secrets
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from gateway.access.models import ApiKey
from gateway.client_config import Server, ways

FIRST = "admin"
FIRST_KEY = "first-key"
# Variables that a client must pass to the process that it starts, if they are set.
STORES = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "DATA_DIR")


@dataclass(frozen=True)
class Credentials:
    """The first admin's password and the first key; shown once."""

    password: str
    key: str


def prepare(*, sample: bool = True) -> Credentials | None:
    """Sets up the database. Returns credentials only if there were no users and keys before."""
    migrate()
    users = get_user_model()._default_manager
    if users.exists() or ApiKey.objects.exists():
        return None
    if sample:
        call_command("load_sample_data", stdout=StringIO())
    password = secrets.token_urlsafe(12)
    users.create_superuser(FIRST, password=password)
    _, key = ApiKey.objects.issue(FIRST_KEY)
    return Credentials(password, key)


def migrate() -> None:
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        call_command("migrate", verbosity=0)


def welcome(base: str, credentials: Credentials) -> str:
    """The message of the first start, with configuration ready to be pasted."""
    server = Server(
        base=base,
        key=credentials.key,
        python=sys.executable,
        manage=str(Path(settings.BASE_DIR) / "manage.py"),
        environment={name: os.environ[name] for name in STORES if os.environ.get(name)},
    )
    snippets = "\n\n".join(f"{way.title}. {way.where}\n\n{way.snippet}" for way in ways(server))
    return f"""
Sluice is ready. This is shown once; keep it.

  Admin        {base}/admin/   login {FIRST}   password {credentials.password}
  API key      {credentials.key}

{snippets}
"""
