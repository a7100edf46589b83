"""Where processes share what must hold for all of them together: rates, quotas, breakers, revisions.

It is the deployment's Redis. Without one, the processes of `manage.py serve --workers` ask their parent instead, which
answers a few of Redis' commands on a Unix socket (gateway/workers/store.py) and forgets all when it ends. So nothing
that must outlive it is stored there.
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
    """From now on, this process and those that it starts share what is stored behind a Unix socket."""
    os.environ[VARIABLE] = f"unix://{quote(str(path))}"


def deployment() -> str:
    """A name of this deployment, for what it shares in a Redis that others may use."""
    return hashlib.sha256(f"{settings.SECRET_KEY}{settings.DATABASES['default']['NAME']}".encode()).hexdigest()[:16]
