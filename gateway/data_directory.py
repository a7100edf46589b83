"""DATA_DIR and what Sluice keeps there: for its own user alone, and found unusable before anything else is begun.

What belongs to that user is closed to others. What belongs to somebody else, as a mounted volume may, is used as it
is, for only its owner can close it; so is a directory that all share, as /tmp.
"""

import os
import secrets
import stat
from pathlib import Path
from tempfile import TemporaryFile

from django.core.exceptions import ImproperlyConfigured

DIRECTORY_MODE, FILE_MODE = 0o700, 0o600
BESIDE_DATABASE = ("-wal", "-shm", "-journal")  # SQLite gives them the mode of the database
ADVICE = "give it to the user that runs Sluice, or name another directory in DATA_DIR."


def private_directory(path: Path) -> Path:
    """The directory, made where it is missing. Raises ImproperlyConfigured where nothing can be written there."""
    try:
        path.mkdir(DIRECTORY_MODE, parents=True, exist_ok=True)
        _close(path, DIRECTORY_MODE)
        with TemporaryFile(dir=path):
            pass
    except FileExistsError:
        raise ImproperlyConfigured(f"DATA_DIR is {path}, which is a file; name a directory in DATA_DIR.") from None
    except OSError as error:
        raise ImproperlyConfigured(f"DATA_DIR {path} cannot be written ({error.strerror}); {ADVICE}") from None
    return path


def private_secret(path: Path) -> str:
    """A secret that is made at the first start, so that no default one exists anywhere. Raises ImproperlyConfigured."""
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w") as file:
                file.write(secrets.token_urlsafe(48))
        _close(path, FILE_MODE)
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read ({error.strerror}); {ADVICE}") from None


def private_database(path: Path) -> None:
    """Makes SQLite's file where it is missing, for SQLite itself would let others read it. Call it before the first
    connection: closing a file takes SQLite's locks on it away. Raises ImproperlyConfigured where it is not writable."""
    beside = [path.with_name(path.name + ending) for ending in BESIDE_DATABASE]
    try:
        for file in [path, *(each for each in beside if each.exists())]:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, FILE_MODE))
            _close(file, FILE_MODE)
        with TemporaryFile(dir=path.parent):  # where SQLite makes the others
            pass
    except OSError as error:
        raise ImproperlyConfigured(
            f"The database {path} cannot be written ({error.strerror}); give it and its directory to the user that "
            "runs Sluice, or name another in DATABASE_URL or DATA_DIR."
        ) from None


def is_open(path: Path) -> bool:
    """Whether others than its owner may look into it."""
    return bool(path.stat().st_mode & 0o077)


def _close(path: Path, mode: int) -> None:
    status = path.stat()
    if is_open(path) and status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        path.chmod(mode)
