"""A set of changes to files, read from a diff's text or from a repository."""

from dataclasses import dataclass
from enum import StrEnum


class ChangeKind(StrEnum):
    """The values appear in answers."""

    ADDED = "Added"
    MODIFIED = "Modified"
    DELETED = "Deleted"
    RENAMED = "Renamed"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """`mark`: "+" added, "-" removed, " " unchanged. `text`: the line without its end."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Neighbouring lines. The starts are line numbers from 1 in the old and the new file, 0 where that side is empty.
    `heading`: the text after the second @@, usually the enclosing definition."""

    old_start: int
    new_start: int
    heading: str
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """A path is relative to the root, with forward slashes. `old_path`: of a renamed file. The modes are git's, such as
    0o100644, and None if the diff does not state them. A binary file and a submodule have no hunks. `cut`: some changed
    lines are missing."""

    path: str
    old_path: str | None
    kind: ChangeKind
    hunks: tuple[Hunk, ...]
    binary: bool = False
    submodule: bool = False
    old_mode: int | None = None
    new_mode: int | None = None
    cut: bool = False


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """`truncated`: the diff ended before its last hunk did, or a limit cut it, so that lines or files are missing."""

    files: tuple[FileChange, ...]
    truncated: bool = False
