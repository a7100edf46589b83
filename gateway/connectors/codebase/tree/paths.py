"""Paths of files inside a project. A file is opened folder by folder, and no link is followed on the way, so that
nothing outside of the root is read even if the tree changes meanwhile."""

import errno
import os
import re
import stat
from pathlib import Path

MAX_FILE_BYTES = 1_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # opening a pipe would wait for its writer
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_EXPECTED = "Expected: a path relative to the project's root, such as src/main.py."


class PathRefused(ValueError):
    """A path that leads out of the project, or to nothing that can be read. The message names the path."""


def parts_of(path: str) -> tuple[str, ...]:
    """The components of a path, if they stay inside the project. Reads nothing. Raises PathRefused."""
    shown = _shown(path)
    if not path or "\0" in path:
        raise PathRefused(f"The path {shown} is not a file name. {_EXPECTED}")
    if path.startswith(("/", "\\", "~")) or _DRIVE.match(path):
        raise PathRefused(f"The path {shown} is absolute. {_EXPECTED}")
    names = tuple(name for name in path.split("/") if name not in ("", "."))
    if ".." in path.replace("\\", "/").split("/"):
        raise PathRefused(f"The path {shown} leads out of the project. {_EXPECTED}")
    if not names or names[0].lower() == ".git":
        raise PathRefused(f"The path {shown} is not a file of the project. {_EXPECTED}")
    return names


def read(root: Path, path: str, limit: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file below the root. Raises PathRefused."""
    names, shown = parts_of(path), _shown(path)
    try:
        file = _opened(root, names)
    except OSError as error:
        raise PathRefused(f"The path {shown} cannot be read: {_why(error)}. {_EXPECTED}") from None
    try:
        state = os.fstat(file)
        if not stat.S_ISREG(state.st_mode):
            raise PathRefused(f"The path {shown} is a folder or a device, not a file. {_EXPECTED}")
        if state.st_size > limit:
            raise PathRefused(f"The file {shown} has {state.st_size:,} bytes, more than {limit:,}.")
        return _all(file, state.st_size)
    finally:
        os.close(file)


def _opened(root: Path, names: tuple[str, ...]) -> int:
    folder = os.open(root, _FOLDER)
    try:
        for name in names[:-1]:
            inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(names[-1], _FILE, dir_fd=folder)
    finally:
        os.close(folder)


def _all(file: int, size: int) -> bytes:
    """At most `size` bytes, even if the file grows meanwhile."""
    pieces, left = [], size
    while left > 0 and (piece := os.read(file, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "it is a link, or leads through one, and links are not followed"
    return (error.strerror or "it is not a file").lower()


def _shown(path: str) -> str:
    text = path.encode(errors="replace").decode()
    return repr(text if len(text) <= 200 else f"{text[:200]}…")
