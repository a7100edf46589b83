"""This process's number among those of one `manage.py serve --workers`, and the sockets between them. The parent is
number 0."""

import os
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree

from context_protection.stores.shared_store import VARIABLE

PARENT = 0
DIRECTORY, NUMBER = "SLUICE_WORKERS", "SLUICE_WORKER"  # variables of the environment, set by the parent process
PREFIX = "workers-"  # beginning of the directory's name
START_SECONDS = 60.0  # a parent process begins to answer within this time
LONGEST_PATH = 100  # bytes of a Unix socket's path; systems allow 104 to 108


class NoPlace(Exception):
    """The message is a sentence to show to the user."""


def directory() -> Path | None:
    """The directory of the processes' sockets; None if this process is alone."""
    path = os.environ.get(DIRECTORY)
    return Path(path) if path else None


def number() -> int:
    return int(os.environ.get(NUMBER) or PARENT)


def name_of(worker: int) -> str:
    """The name of a worker in logs."""
    return f"web-{worker}"


def is_worker() -> bool:
    return number() != PARENT


def socket_of(process: int) -> Path:
    """The path of the socket on which a process answers the others."""
    folder = directory()
    assert folder is not None
    return folder / f"{process}.sock"


@contextmanager
def own_directory(data_dir: Path) -> Iterator[Path]:
    """A private directory for the sockets, passed to child processes by the environment. Removes directories that
    killed parents left behind. Raises NoPlace."""
    _remove_abandoned(data_dir)
    path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=data_dir))
    try:
        store = path / "store.sock"
        if len(os.fsencode(store)) > LONGEST_PATH:
            raise NoPlace(
                f"DATA_DIR is {data_dir}: the path of a Unix socket in it would exceed {LONGEST_PATH} bytes; "
                "set DATA_DIR to a shorter path, or use --workers 1."
            )
        os.environ[DIRECTORY] = str(path)
        yield path
    finally:
        os.environ.pop(DIRECTORY, None)
        os.environ.pop(VARIABLE, None)
        rmtree(path, ignore_errors=True)


def environment_of(worker: int) -> Mapping[str, str]:
    """The environment of a worker process."""
    return {**os.environ, NUMBER: str(worker)}


def _remove_abandoned(data_dir: Path) -> None:
    for folder in data_dir.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # another parent that is starting has removed it
            is_young = time.time() - folder.stat().st_mtime < START_SECONDS  # another parent may be about to start
            if not is_young and not _answers(folder / f"{PARENT}.sock"):
                rmtree(folder, ignore_errors=True)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True
