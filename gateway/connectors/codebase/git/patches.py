"""Converts a libgit2 diff to a ChangeSet, within bounds: a large diff lists its files, up to MAX_FILES, but only the
first ones with their lines."""

import re
from collections.abc import Callable, Iterator

import pygit2
from pygit2.enums import DeltaStatus

from gateway.connectors.codebase.git.changes import ChangeKind, ChangeSet, DiffLine, FileChange, Hunk
from gateway.connectors.codebase.git.history import text

MAX_FILES = 50_000
MAX_FILE_BYTES = 1_000_000  # of either side of a file; a larger one is listed without its lines
MAX_BYTES = 16_000_000  # of memory for the lines of all files together
LINE_BYTES = 60  # of memory for a line, besides its text
LONGEST_LINE = 20_000  # bytes; longer ones are cut
_GITLINK, _FOLDER, _NO_MODE = 0o160000, 0o040000, 0
_HEADING = re.compile(r"@@ [^@]* @@ ?(.*)")
_KINDS = {
    DeltaStatus.ADDED: ChangeKind.ADDED,
    DeltaStatus.UNTRACKED: ChangeKind.ADDED,
    DeltaStatus.DELETED: ChangeKind.DELETED,
    DeltaStatus.RENAMED: ChangeKind.RENAMED,
    DeltaStatus.MODIFIED: ChangeKind.MODIFIED,
    DeltaStatus.TYPECHANGE: ChangeKind.MODIFIED,
    DeltaStatus.CONFLICTED: ChangeKind.MODIFIED,
}


def change_set(repository: pygit2.Repository, diff: pygit2.Diff, has_left: Callable[[], bool]) -> ChangeSet:
    """The result is `truncated` if a bound left out lines or files, or if the clone lacks contents. `has_left`: whether
    lines may still be read; once it is false, files are listed without lines."""
    reader = _PatchReader(repository, diff, has_left)
    files = tuple(reader.files())
    return ChangeSet(files, reader.truncated)


class _PatchReader:
    """Creates one patch at a time, because libgit2 holds both sides of the patch's file in memory."""

    def __init__(self, repository: pygit2.Repository, diff: pygit2.Diff, has_left: Callable[[], bool]) -> None:
        self._repository, self._diff, self._has_left = repository, diff, has_left
        self._left = MAX_BYTES
        self._cut = False  # whether lines of the current file are left out
        self.truncated = False

    def files(self) -> Iterator[FileChange]:
        listed = 0
        for position, delta in enumerate(self._diff.deltas):
            kind = _KINDS.get(delta.status)
            if kind is None or _is_same_submodule(delta):
                continue
            if listed == MAX_FILES:
                self.truncated = True
                return
            listed += 1
            yield self._file(position, delta, kind)

    def _file(self, position: int, delta: pygit2.DiffDelta, kind: ChangeKind) -> FileChange:
        old, new = delta.old_file, delta.new_file
        submodule = _GITLINK in (old.mode, new.mode) or new.mode == _FOLDER  # an untracked repository is a folder
        hunks: tuple[Hunk, ...] = ()
        binary = self._cut = False
        if not submodule and not (old.id == new.id and kind is ChangeKind.RENAMED):
            hunks, binary = self._content(position, delta)
        self.truncated = self.truncated or self._cut
        return FileChange(
            path=text(new.raw_path).rstrip("/"),
            old_path=text(old.raw_path) if kind is ChangeKind.RENAMED else None,
            kind=kind,
            hunks=hunks,
            binary=binary,
            submodule=submodule,
            old_mode=int(old.mode) or None,
            new_mode=_GITLINK if new.mode == _FOLDER else int(new.mode) or None,
            cut=self._cut,
        )

    def _content(self, position: int, delta: pygit2.DiffDelta) -> tuple[tuple[Hunk, ...], bool]:
        """The hunks, and whether the file is binary. No hunks if a bound is exceeded or an object is missing."""
        if self._left <= 0 or not self._has_left() or self._size(delta) > MAX_FILE_BYTES:
            self._cut = True
            return (), False
        try:
            patch = self._diff[position]
        except (KeyError, OSError, ValueError, pygit2.GitError):
            self._cut = True
            return (), False
        if patch is None:
            return (), False
        return tuple(self._hunks(patch)), bool(patch.delta.is_binary)

    def _size(self, delta: pygit2.DiffDelta) -> int:
        """The larger side's bytes. A diff of trees has no sizes before the contents are read, so the sizes are taken
        from the objects' headers."""
        sizes = [delta.new_file.size, delta.old_file.size]
        for side in (delta.old_file, delta.new_file):
            if not side.size and side.mode not in (_NO_MODE, _GITLINK) and side.id in self._repository.odb:
                sizes.append(self._repository.odb.read_header(side.id)[1])
        return max(sizes)

    def _hunks(self, patch: pygit2.Patch) -> Iterator[Hunk]:
        for hunk in patch.hunks:
            if self._left <= 0:
                self._cut = True
                return
            found = _HEADING.match(hunk.header)
            yield Hunk(
                old_start=hunk.old_start,
                new_start=hunk.new_start,
                heading=found[1].strip() if found else "",
                lines=tuple(self._lines(hunk)),
            )

    def _lines(self, hunk: pygit2.DiffHunk) -> Iterator[DiffLine]:
        for line in hunk.lines:
            if line.origin not in "+- ":  # such as "\ No newline at end of file"
                continue
            if self._left <= 0:
                self._cut = True
                return
            raw = line.raw_content
            self._left -= len(raw) + LINE_BYTES
            if len(raw) > LONGEST_LINE:
                raw, self._cut = raw[:LONGEST_LINE], True
            yield DiffLine(line.origin, text(raw.removesuffix(b"\n").removesuffix(b"\r")))


def _is_same_submodule(delta: pygit2.DiffDelta) -> bool:
    """Whether a submodule is at the same commit on both sides: it is only listed because of changes inside it."""
    return delta.old_file.mode == delta.new_file.mode == _GITLINK and delta.old_file.id == delta.new_file.id
