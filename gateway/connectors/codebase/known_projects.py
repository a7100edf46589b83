"""The projects, cached in memory, and which of them a caller may read. A call needs no database query for them."""

from dataclasses import dataclass
from pathlib import Path

from context_protection.configuration.live import Live
from gateway.catalog.caller import Caller
from gateway.connectors.codebase.models import Project


@dataclass(frozen=True, slots=True)
class KnownProject:
    """`root`: absolute, with symbolic links resolved."""

    id: int
    name: str
    root: Path


def all_projects() -> tuple[KnownProject, ...]:
    """Ordered by name. Blocks only if they have changed since they were last loaded."""
    return _live.get()


def projects_for(caller: Caller) -> tuple[KnownProject, ...]:
    """The projects that the caller may read, ordered by name."""
    return tuple(each for each in all_projects() if caller.may_read(each.name))


def _load() -> tuple[KnownProject, ...]:
    rows = Project.objects.order_by("name").values_list("id", "name", "path")
    return tuple(KnownProject(project_id, name, Path(path)) for project_id, name, path in rows)


_live = Live(_load)
