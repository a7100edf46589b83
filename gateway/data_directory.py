"""DATA_DIR and the files that Sluice stores there: readable by Sluice's user alone, and checked before anything else
starts.

Other users lose access to existing files and directories of Sluice's user. Files and directories of another user, such
as a mounted volume, are used unchanged, because only their owner can change their mode. Shared directories such as /tmp
are used unchanged too.
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
    """Creates the directory if it is missing. Raises ImproperlyConfigured if nothing can be written there."""
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
    """Reads the secret, which is generated at the first start so that no default secret exists. Raises
    ImproperlyConfigured."""
    try:
        if not path.exists():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w") as file:
                file.write(secrets.token_urlsafe(48))
        _close(path, FILE_MODE)
        return path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(f"{path} cannot be read ({error.strerror}); {ADVICE}") from None


def private_database(path: Path) -> None:
    """Creates SQLite's file if it is missing, because SQLite itself would let others read it. Call it before the first
    connection: closing the file releases SQLite's locks on it. Raises ImproperlyConfigured if it is not writable."""
    beside = [path.with_name(path.name + ending) for ending in BESIDE_DATABASE]
    try:
        for file in [path, *(each for each in beside if each.exists())]:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, FILE_MODE))
            _close(file, FILE_MODE)
        with TemporaryFile(dir=path.parent):  # SQLite creates its other files here
            pass
    except OSError as error:
        raise ImproperlyConfigured(
            f"The database {path} cannot be written ({error.strerror}); give it and its directory to the user that "
            "runs Sluice, or name another in DATABASE_URL or DATA_DIR."
        ) from None


def is_open(path: Path) -> bool:
    """Whether users other than the owner have any access."""
    return bool(path.stat().st_mode & 0o077)


def _close(path: Path, mode: int) -> None:
    status = path.stat()
    if is_open(path) and status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
        path.chmod(mode)
