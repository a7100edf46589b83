"""The first start: creates the database, a sample account, the first admin and the first key."""

import secrets
from dataclasses import dataclass
from io import StringIO

from django.contrib.auth import get_user_model
from django.core.management import call_command

from gateway.access.models import ApiKey
from gateway.process.migration_state import is_migrated

FIRST = "admin"
FIRST_KEY = "first-key"


@dataclass(frozen=True)
class FirstCredentials:
    """The first admin's password and the first key; shown once."""

    password: str
    key: str


def prepare(*, sample: bool = True) -> FirstCredentials | None:
    """Sets up the database. Returns credentials only if there were no users or keys before."""
    migrate()
    if _has_accounts():
        return None
    if sample:
        call_command("load_sample_data", stdout=StringIO())
    password = secrets.token_urlsafe(12)
    get_user_model()._default_manager.create_superuser(FIRST, password=password)
    _, key = ApiKey.objects.issue(FIRST_KEY, may_read_telemetry=True, reads_all_projects=True)
    return FirstCredentials(password, key)


def is_over() -> bool:
    """Whether `prepare` would change nothing."""
    return is_migrated() and _has_accounts()


def migrate() -> None:
    if not is_migrated():
        call_command("migrate", verbosity=0)


def _has_accounts() -> bool:
    return get_user_model()._default_manager.exists() or ApiKey.objects.exists()
