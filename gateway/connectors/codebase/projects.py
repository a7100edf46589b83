"""Adds and removes projects. Errors say what to do next."""

from django.db import IntegrityError, transaction

from context_protection.core.errors import nearest
from gateway.connectors.codebase.models import Project
from gateway.connectors.codebase.roots import ProjectRefused, checked_name, checked_root


def add(name: str, path: str) -> Project:
    """Registers the repository whose root is `path`. Raises ProjectRefused."""
    root = checked_root(path)
    try:
        with transaction.atomic():
            return Project.objects.create(name=checked_name(name), path=str(root))
    except IntegrityError:
        existing = Project.objects.get(name=name)
        raise ProjectRefused(
            f"There is a project {name!r} already, at {existing.path}. Choose another name, or remove it first: "
            f"manage.py project remove {name}"
        ) from None


def remove(name: str) -> None:
    """Removes the project, and leaves its folder as it is. Raises ProjectRefused."""
    named(name).delete()


def named(name: str) -> Project:
    """The project with this name. Raises ProjectRefused."""
    project = Project.objects.filter(name=name).first()
    if project is None:
        close = nearest(name, Project.objects.values_list("name", flat=True))
        raise ProjectRefused(
            f"There is no project {name!r}. "
            + (f"The nearest is {close!r}." if close else "`manage.py project list` shows them.")
        )
    return project
