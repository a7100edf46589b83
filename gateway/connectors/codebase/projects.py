"""Which folders become projects. Errors say what to do next."""

import re
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction

from context_protection.core.errors import nearest
from gateway.connectors.codebase.git.repository import RepositoryRefused, opened
from gateway.connectors.codebase.models import Project

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")


class ProjectRefused(ValueError):
    """The message names the argument, its value, what is expected, and what to do next."""


def add(name: str, path: str) -> Project:
    """Registers the repository whose root is `path`. Raises ProjectRefused."""
    if not NAME.fullmatch(name):
        raise ProjectRefused(
            f"The name {name!r} cannot be used. Expected: 1 to 32 lower-case letters, digits, _ and -, the first a "
            "letter or a digit, such as web-shop."
        )
    root = _root(path, settings.PROJECT_ROOTS)
    try:
        opened(root)
    except RepositoryRefused as error:
        raise ProjectRefused(str(error)) from None
    try:
        with transaction.atomic():
            return Project.objects.create(name=name, path=str(root))
    except IntegrityError:
        there = Project.objects.get(name=name)
        raise ProjectRefused(
            f"There is a project {name!r} already, at {there.path}. Choose another name, or remove it first: "
            f"manage.py project remove {name}"
        ) from None


def remove(name: str) -> None:
    """The folder itself stays as it is. Raises ProjectRefused."""
    deleted, _ = Project.objects.filter(name=name).delete()
    if not deleted:
        close = nearest(name, Project.objects.values_list("name", flat=True))
        raise ProjectRefused(
            f"There is no project {name!r}. "
            + (f"The nearest is {close!r}." if close else "`manage.py project list` shows them.")
        )


def _root(path: str, allowed: Sequence[str]) -> Path:
    """The folder without links, so that a link that is changed later does not move a project elsewhere."""
    try:
        root = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no path"
        raise ProjectRefused(
            f"The path {path!r} cannot be opened: {why}. Expected: the root of a git repository on this machine, which "
            "Sluice's user may read."
        ) from None
    if not root.is_dir():
        raise ProjectRefused(f"The path {path!r} is a file. Expected: the folder of a git repository.")
    if allowed and not any(root.is_relative_to(Path(each).resolve()) for each in allowed):
        raise ProjectRefused(
            f"The path {path!r} is {root}, which is not below {' or '.join(allowed)}. Add its folder to PROJECT_ROOTS "
            "and start Sluice again, or choose a path below those."
        )
    return root
