"""What some tests need of a machine beyond Python. Where it is missing they are skipped, and the run's last lines say
which and how to get it; under CI, where it can be installed, they fail."""

import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
import redis

CLIENTS = Path(__file__).parent / "e2e/typescript"
HOST, POSTGRES_PORT, REDIS_PORT = "127.0.0.1", 5432, 6379


# The first has no windows of its own to draw, and takes half of the processor time of the others.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """The path of the browser."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def axe_core() -> Path:
    """The script that looks for barriers in a page."""
    return CLIENTS / "node_modules/axe-core/axe.min.js"


def _node() -> bool:
    return bool(shutil.which("node")) and (CLIENTS / "node_modules/.installed").exists()


def _postgres() -> bool:
    try:
        psycopg.connect(host=HOST, port=POSTGRES_PORT, user="postgres", connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis() -> bool:
    with redis.Redis(HOST, REDIS_PORT, socket_timeout=5) as client:
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False


def _tmpfs() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)
        return mounted.returncode == 0


def postgres_programs() -> Path | None:
    """The folder of initdb and postgres, of the newest version."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@dataclass(frozen=True)
class Need:
    """`name` as a subject of "is missing"; `get` what to do about it, commands as on Debian and Ubuntu."""

    name: str
    get: str
    found: Callable[[], bool]

    def __str__(self) -> str:
        return f"{self.name} is missing. To run them: {self.get}"

    def or_skip(self) -> None:
        if not self.found():
            pytest.fail(str(self)) if os.environ.get("CI") == "true" else pytest.skip(str(self))


AXE = Need("axe-core, in tests/e2e/typescript", "apt install nodejs npm, then make test", lambda: axe_core().exists())
CADDY = Need("Caddy", "apt install caddy", lambda: shutil.which("caddy") is not None)
CHROMIUM = Need("Chromium", "apt install chromium-headless-shell", lambda: chromium() is not None)
NODE = Need("Node.js with the clients of tests/e2e/typescript", "apt install nodejs npm, then make test", _node)
POSTGRES = Need(
    f"Postgres on {HOST}:{POSTGRES_PORT} that lets the user postgres in without a password",
    f"apt install postgresql, and put `host all postgres {HOST}/32 trust` first in its pg_hba.conf",
    _postgres,
)
REDIS = Need(f"Redis on {HOST}:{REDIS_PORT}", "apt install redis-server", _redis)
REDIS_SERVER = Need(
    "the program redis-server", "apt install redis-server", lambda: shutil.which("redis-server") is not None
)
POSTGRES_SERVER = Need(
    "Postgres' programs, in /usr/lib/postgresql", "apt install postgresql", lambda: postgres_programs() is not None
)
TMPFS = Need("the right to mount a tmpfs", "run them as root, where mount is allowed", _tmpfs)


# -- As a plugin of pytest --------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Below all else that the run says, whichever process ran the tests."""
    yield
    skipped = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    if skipped:
        terminalreporter.section("not run on this machine")
    for reason, amount in skipped.most_common():
        terminalreporter.line(f"{amount} {'test' if amount == 1 else 'tests'}: {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else report.longreprtext
