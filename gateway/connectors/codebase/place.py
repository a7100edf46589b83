"""Where a project and its index are on this machine."""

from dataclasses import dataclass
from pathlib import Path

from gateway.connectors.codebase.index.index_place import IndexPlace


@dataclass(frozen=True, slots=True)
class ProjectPlace:
    """`index`: where the index is; it need not exist yet. `is_indexed`: the index has all files."""

    root: Path
    index: IndexPlace
    is_indexed: bool
