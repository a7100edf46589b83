"""Which project a call is about."""

from collections.abc import Mapping, Sequence
from typing import Any

from context_protection.core.errors import InvalidArgument, NotFound, nearest
from gateway.catalog.caller import Caller
from gateway.connectors.codebase.known_projects import KnownProject, projects_for

PROJECT = "project"
MOST_NAMES = 20  # names that an error lists


def selected_project(arguments: Mapping[str, Any], caller: Caller) -> KnownProject:
    """The project that the call names, or the only one that the caller may read. Raises InvalidArgument or NotFound."""
    projects = projects_for(caller)
    name = arguments.get(PROJECT)
    if not projects:
        raise NotFound(
            "Your key may not read any project.",
            reason="no_project",
            suggestion="Ask the operator to give your key access to a project, in the admin under API keys.",
        )
    if name is None and len(projects) == 1:
        return projects[0]
    found = next((each for each in projects if each.name == name), None)
    if found is None:
        raise _unknown(name, projects)
    return found


def _unknown(name: str | None, projects: Sequence[KnownProject]) -> InvalidArgument:
    names = [each.name for each in projects]
    close = (nearest(name, names) if name else None) or names[0]
    shown = ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")
    return InvalidArgument(
        "There are several projects: say which." if name is None else "There is no such project.",
        reason="invalid_project",
        parameter=PROJECT,
        value=name,
        expected=f"one of: {shown}",
        suggestion=f"Set {PROJECT} to {close}.",
    )
