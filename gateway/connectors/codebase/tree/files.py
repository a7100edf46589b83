"""The files of a project that can be indexed and queried."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, DiffOption, FileStatus

from gateway.connectors.codebase.git.history import text
from gateway.connectors.codebase.git.repository import empty_tree
from gateway.connectors.codebase.tree import left_out, paths

_LINK, _GITLINK = 0o120000, 0o160000
_UNTRACKED = DiffOption.INCLUDE_UNTRACKED | DiffOption.RECURSE_UNTRACKED_DIRS | DiffOption.IGNORE_SUBMODULES


@dataclass(frozen=True, slots=True)
class TreeFile:
    """`path`: relative to the root, with forward slashes; bytes that are not UTF-8 are replaced by surrogates. `size`:
    of the content, in bytes."""

    path: str
    size: int
    content: bytes


def names(repository: pygit2.Repository) -> list[str]:
    """The paths of all files that may be read, sorted: tracked ones, and untracked ones that are not ignored. Links,
    submodules, generated and secret-looking files are left out. For a bare repository, the files of HEAD."""
    found = _committed(repository) if repository.is_bare else _present(repository)
    return sorted(path for path in found if not left_out.is_generated_name(path) and not left_out.is_secret_name(path))


def has_name(repository: pygit2.Repository, path: str) -> bool:
    """Whether git tracks the file or would: False for an ignored file, and for one of a repository below this one. True
    for any path of a bare repository, of which only the files of HEAD can be read."""
    if repository.is_bare:
        return True
    repository.index.read()
    if path in repository.index:
        return True
    try:
        return repository.status_file(path) == FileStatus.WT_NEW
    except (KeyError, ValueError, pygit2.GitError):  # no such file, or more than one
        return False


def why_unread(root: Path, repository: pygit2.Repository, path: str) -> str:
    """A sentence that says why `file_at` has no file at this path of the work tree: it is a link, or too large. Empty
    if its name or contents are left out, and for a bare repository."""
    try:
        if not repository.is_bare:
            paths.read(root, path)
    except paths.PathRefused as refused:
        return str(refused)
    return ""


def file_at(root: Path, repository: pygit2.Repository, path: str) -> TreeFile | None:
    """The file at a path, whether or not `names` has it: a file that git ignores is read too. None if the file is left
    out (see `left_out`), has disappeared, cannot be read, or is larger than paths.MAX_FILE_BYTES. Raises PathRefused
    for a path that leads out of the project."""
    paths.parts_of(path)
    if left_out.is_generated_name(path) or left_out.is_secret_name(path):
        return None
    try:
        content = _blob(repository, path) if repository.is_bare else paths.read(root, path)
    except paths.PathRefused:
        return None
    if content is None or left_out.by_content(path, content):
        return None
    return TreeFile(path, len(content), content)


def _present(repository: pygit2.Repository) -> set[str]:
    index = repository.index
    index.read()
    # A diff against the empty tree has names as bytes; the index's entries only have names decoded as UTF-8.
    found = set(_regular(empty_tree(repository).diff_to_index(index)))
    for delta in index.diff_to_workdir(_UNTRACKED).deltas:
        path = text(delta.new_file.raw_path)
        if delta.status is DeltaStatus.DELETED:
            found.discard(path)
        elif delta.status is DeltaStatus.UNTRACKED and delta.new_file.mode != _LINK and not path.endswith("/"):
            found.add(path)
    return found


def _committed(repository: pygit2.Repository) -> Iterator[str]:
    if repository.head_is_unborn:
        return
    yield from _regular(empty_tree(repository).diff_to_tree(repository.head.peel(pygit2.Tree)))


def _regular(diff: pygit2.Diff) -> Iterator[str]:
    for delta in diff.deltas:
        if delta.new_file.mode not in (_LINK, _GITLINK):
            yield text(delta.new_file.raw_path)


def _blob(repository: pygit2.Repository, path: str) -> bytes | None:
    try:
        found = repository.head.peel(pygit2.Tree)[path]
    except (KeyError, ValueError, pygit2.GitError):
        return None
    if not isinstance(found, pygit2.Blob) or found.filemode == _LINK or found.size > paths.MAX_FILE_BYTES:
        return None
    return found.data
