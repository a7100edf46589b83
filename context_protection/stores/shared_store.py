"""The store of state that all processes share: rates, quotas, breakers, revisions.

It is the deployment's Redis. Without one, the processes of `manage.py serve --workers` use their parent instead, which
answers a few of Redis' commands on a Unix socket (gateway/workers/store.py). The parent loses all data when it ends, so
nothing that must outlive it is stored there.
"""

import hashlib
import os
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

VARIABLE = "SLUICE_SHARED_STORE"  # of the environment, set by the parent process


def shared_url() -> str:
    """The URL of the shared store: Redis, or the parent's Unix socket. Empty if this process has none."""
    return getattr(settings, "REDIS_URL", "") or os.environ.get(VARIABLE, "")


def use_store_at(path: Path) -> None:
    """Makes this process and those that it starts use the shared store at a Unix socket."""
    os.environ[VARIABLE] = f"unix://{quote(str(path))}"


def deployment() -> str:
    """A name of this deployment, for its keys in a Redis that other deployments may use."""
    return hashlib.sha256(f"{settings.SECRET_KEY}{settings.DATABASES['default']['NAME']}".encode()).hexdigest()[:16]
