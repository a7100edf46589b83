"""Repositories made by the git command, for tests."""

import os
import subprocess
from pathlib import Path

_AS = (
    "-c",
    "user.name=A",
    "-c",
    "user.email=a@example.org",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "core.fsync=none",
)


def git(folder: Path, *arguments: str, time: int | None = None) -> str:
    """`time`: of the commit, in seconds since 1970."""
    dates = {"GIT_AUTHOR_DATE": f"@{time} +0000", "GIT_COMMITTER_DATE": f"@{time} +0000"} if time else {}
    environment = os.environ | dates | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(folder), *_AS, *arguments], check=True, capture_output=True, env=environment
    )
    return done.stdout.decode(errors="surrogateescape").strip()


def new(folder: Path, **files: str) -> Path:
    """A repository with one commit, if there are files."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    if files:
        write(folder, **files)
        commit(folder, "first")
    return folder


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, newline="")


def commit(folder: Path, message: str, time: int | None = None) -> str:
    """The id of a commit of everything that is in the folder."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message, time=time)
    return git(folder, "rev-parse", "HEAD")
