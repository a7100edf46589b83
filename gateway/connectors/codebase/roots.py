"""Checks the names and folders of projects. Errors say what to do next."""

import re
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from gateway.connectors.codebase.git.refusal import RepositoryRefused

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


class ProjectRefused(ValueError):
    """The message names the argument, its value, what is expected, and what to do next."""


def checked_name(name: str) -> str:
    """Raises ProjectRefused."""
    if not NAME.fullmatch(name):
        raise ProjectRefused(
            f"The name {name!r} cannot be used. Expected: 1 to 32 lower-case letters, digits, _ and -, the first a "
            "letter or a digit, such as web-shop."
        )
    return name


def checked_root(path: str) -> Path:
    """The root of the repository at the path, as it is stored. Raises ProjectRefused."""
    from gateway.connectors.codebase.git.repository import opened  # only when needed: libgit2 takes 11 MB

    root = _root(path, settings.PROJECT_ROOTS)
    try:
        opened(root)
    except RepositoryRefused as error:
        raise ProjectRefused(str(error)) from None
    return root


def _root(path: str, allowed: Sequence[str]) -> Path:
    """The folder with symbolic links resolved, so that a later change of a link does not change the project's
    folder."""
    try:
        root = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not a path"
        raise ProjectRefused(
            f"The path {path!r} cannot be opened: {why}. Expected: the root of a git repository on this machine, which "
            "Sluice's user may read."
        ) from None
    if not root.is_dir():
        raise ProjectRefused(f"The path {path!r} is a file. Expected: the folder of a git repository.")
    if allowed and not any(root.is_relative_to(Path(each).resolve()) for each in allowed):
        raise ProjectRefused(
            f"The path {path!r} is {root}, which is not below {' or '.join(allowed)}. Add its folder to PROJECT_ROOTS "
            "and restart Sluice, or choose a path below those."
        )
    return root
