"""What the processes of one run of the tests share: a directory, which the first of them makes and removes."""

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "SLUICE_TEST_RUN"  # the others find it in their environment


def _made() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="sluice-test-run-"))
    os.environ[VARIABLE] = str(directory)
    maker = os.getpid()

    def remove() -> None:
        if os.getpid() == maker:
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(remove)
    return directory


directory = Path(os.environ[VARIABLE]) if VARIABLE in os.environ else _made()


@contextmanager
def one_at_a_time(name: str) -> Iterator[None]:
    """The other processes wait."""
    with (directory / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
