"""The parts of a change that must not be quoted: lines of secret files, and values that are assigned to secret-like
names."""

from collections.abc import Iterable
from dataclasses import replace

from gateway.connectors.codebase.commits.facts import lines_of
from gateway.connectors.codebase.git.changes import ChangeSet, FileChange
from gateway.connectors.codebase.secrets import assigned_in
from gateway.connectors.codebase.tree.left_out import is_secret_name


def without_secret_files(changes: ChangeSet) -> ChangeSet:
    """Files such as `.env` keep their names, and lose their lines."""
    return replace(changes, files=tuple(map(_without_lines, changes.files)))


def secrets_of(files: Iterable[FileChange]) -> frozenset[str]:
    return assigned_in(line.text for file in files for line in lines_of(file))


def _without_lines(file: FileChange) -> FileChange:
    return replace(file, hunks=(), cut=True) if file.hunks and is_secret_name(file.path) else file
