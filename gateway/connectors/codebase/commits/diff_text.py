"""Reads the text of a diff: git's in all its forms, and plain unified ones. The counts in a hunk's header say where the
hunk ends, so its lines are never mistaken for headers."""

import re
from dataclasses import dataclass, field, replace

from gateway.connectors.codebase.commits.diff_names import (
    NOWHERE,
    DiffRefused,
    inside,
    of_git_line,
    of_header_line,
    unquoted,
    without_prefixes,
)
from gateway.connectors.codebase.git.changes import ChangeKind, ChangeSet, DiffLine, FileChange, Hunk

MAX_BYTES = 1_000_000

_GIT = "diff --git "
_COMBINED = re.compile(r"diff --(?:cc|combined) (.+)")
# Longer numbers cannot be line numbers, and Python refuses to parse very long ones.
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)")
_COMBINED_HUNK = re.compile(r"(@@@+) ((?:-\d{1,9}(?:,\d{1,9})? )+)\+(\d{1,9})(?:,(\d{1,9}))? @@@+ ?(.*)")
_HEADER = re.compile(
    r"(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|index) (.+)"
)
_BINARY = re.compile(r"Binary files (.+) and (.+) differ")
_SUBMODULE = re.compile(r"Submodule (.+) [0-9a-f]{7,}\.\.\.?[0-9a-f]{7,}(.*)")
_EPOCH = re.compile(r"\t(1970-01-01|1969-12-31) ")  # how diff -N dates a missing file
_GITLINK = 0o160000


def read_diff(text: str) -> ChangeSet:
    """Raises DiffRefused if the text holds no diff, is too long, or names paths that lead out of the tree."""
    if not text.strip():
        raise DiffRefused("sinceDiff is empty. Expected: the output of `git diff`. Omit it to use the work tree.")
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise DiffRefused(
            f"sinceDiff has {size:,} bytes, more than {MAX_BYTES:,}. Send fewer files, or use sinceCommit."
        )
    reader = _DiffText(text)
    files = reader.read()
    if not files:
        raise DiffRefused(
            'sinceDiff holds no diff: no "diff --git" line, and no "---" line with a "+++" line below it. '
            "Expected: the output of `git diff`, `git show` or `diff -u`."
        )
    return ChangeSet(_merged(files), reader.truncated)


@dataclass
class _File:
    """A file of the diff while it is read. Its names are None until a line states them."""

    old: str | None = None
    new: str | None = None
    renamed: bool = False
    added: bool = False
    deleted: bool = False
    binary: bool = False
    submodule: bool = False
    old_mode: int | None = None
    new_mode: int | None = None
    cut: bool = False
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def has_change(self) -> bool:
        return bool(
            self.renamed or self.added or self.deleted or self.binary or self.submodule or self.old_mode or self.hunks
        )

    def change(self) -> FileChange | None:
        path = self.old if self.deleted else self.new
        if path is None:
            return None
        renamed = self.renamed and self.old != self.new
        kind = ChangeKind.ADDED if self.added else ChangeKind.DELETED if self.deleted else ChangeKind.MODIFIED
        return FileChange(
            path=inside(path),
            old_path=inside(self.old) if renamed and self.old is not None else None,
            kind=ChangeKind.RENAMED if renamed else kind,
            hunks=() if self.submodule else tuple(self.hunks),
            binary=self.binary,
            submodule=self.submodule,
            old_mode=self.old_mode,
            new_mode=self.new_mode,
            cut=self.cut,
        )


class _DiffText:
    def __init__(self, text: str) -> None:
        self._whole = text.endswith("\n")
        self._lines = text.removesuffix("\n").split("\n")
        self._at = 0
        self.truncated = False

    def read(self) -> list[FileChange]:
        found: list[FileChange] = []
        while self._at < len(self._lines):
            file = self._file()
            change = file.change() if file else None
            if change:
                found.append(change)
        return found

    def _line(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._lines[at].removesuffix("\r") if at < len(self._lines) else ""

    def _file(self) -> _File | None:
        """The file that begins at this line, if one does."""
        line = self._line()
        if line.startswith(_GIT):
            return self._git_file(of_git_line(line.removeprefix(_GIT)))
        if combined := _COMBINED.match(line):
            name = unquoted(combined[1])
            return self._git_file((name, name))
        if self._at_names():
            file = _File()
            self._names(file)
            self._hunks(file)
            return file
        self._at += 1
        if binary := _BINARY.fullmatch(line):
            return _named(_File(binary=True), *binary.groups())
        if submodule := _SUBMODULE.match(line):
            name, note = submodule[1], submodule[2]
            return _File(name, name, submodule=True, added="new submodule" in note, deleted="deleted" in note)
        return None

    def _at_names(self) -> bool:
        return self._line().startswith("--- ") and self._line(1).startswith("+++ ")

    def _git_file(self, names: tuple[str, str] | None) -> _File:
        file = _File(*names) if names else _File()
        self._at += 1
        while self._at < len(self._lines):
            line = self._line()
            if header := _HEADER.fullmatch(line):
                _take_header(file, header[1], header[2])
            elif line.startswith(("GIT binary patch", "Binary files ")):
                file.binary = True
            elif self._at_names():
                self._names(file)
                self._hunks(file)
                break
            elif line.startswith((_GIT, "diff --cc ", "diff --combined ", "From ", "commit ")):
                break
            self._at += 1
        if self._at >= len(self._lines) and not file.has_change:
            self.truncated = file.cut = True
        return file

    def _names(self, file: _File) -> None:
        old, new = self._line().removeprefix("--- "), self._line(1).removeprefix("+++ ")
        file.added = file.added or old == NOWHERE or bool(_EPOCH.search(old))
        file.deleted = file.deleted or new == NOWHERE or bool(_EPOCH.search(new))
        if file.new is None:
            _named(file, of_header_line(old), of_header_line(new))
        self._at += 2

    def _hunks(self, file: _File) -> None:
        while self._at < len(self._lines):
            line = self._line()
            if plain := _HUNK.match(line):
                old, new = int(plain[2] or 1), int(plain[4] or 1)
                self._at += 1
                file.hunks.append(Hunk(int(plain[1]), int(plain[3]), plain[5], self._hunk_lines(file, old, new)))
            elif combined := _COMBINED_HUNK.match(line):
                parents = combined[2].split()
                start = int(parents[0][1:].partition(",")[0])
                self._at += 1
                lines = self._combined_lines(file, len(parents), int(combined[4] or 1))
                file.hunks.append(Hunk(start, int(combined[3]), combined[5], lines))
            else:
                if line.startswith("@@"):
                    self.truncated = file.cut = True
                    self._at += 1
                break
        if not file.hunks and not (file.added or file.deleted or file.old_mode or file.renamed):
            self.truncated = file.cut = True
        first = file.hunks[0].lines if file.hunks else ()
        file.submodule = file.submodule or any(each.text.startswith("Subproject commit ") for each in first[:2])

    def _hunk_lines(self, file: _File, old: int, new: int) -> tuple[DiffLine, ...]:
        lines: list[DiffLine] = []
        while self._at < len(self._lines) and (old > 0 or new > 0):
            line = self._line()
            mark, text = line[:1] or " ", line[1:]  # mail programs strip the space that marks an empty line
            if mark not in "+- \\" or (mark == "-" and old <= 0) or (mark == "+" and new <= 0):
                break
            self._at += 1
            if mark == "\\":
                continue
            old -= mark != "+"
            new -= mark != "-"
            lines.append(DiffLine(mark, text))
        if self._line().startswith("\\"):
            self._at += 1
        if old > 0 or new > 0:
            self._cut(file, lines)
        return tuple(lines)

    def _combined_lines(self, file: _File, parents: int, new: int) -> tuple[DiffLine, ...]:
        """The lines of a merge, with a column of marks for each parent. A line that one parent lacks counts as
        added."""
        lines: list[DiffLine] = []
        while self._at < len(self._lines):
            columns = self._line()[:parents]
            if set(columns) - set("+- ") or ("-" not in columns and new <= 0) or not columns:
                break
            new -= "-" not in columns
            mark = "-" if "-" in columns else "+" if "+" in columns else " "
            lines.append(DiffLine(mark, self._line()[parents:]))
            self._at += 1
        if new > 0:
            self._cut(file, lines)
        return tuple(lines)

    def _cut(self, file: _File, lines: list[DiffLine]) -> None:
        """Marks a hunk that is shorter than its header says as cut. If the text ends within a line, that line is
        dropped."""
        self.truncated = file.cut = True
        if lines and self._at >= len(self._lines) and not self._whole:
            lines.pop()


def _named(file: _File, old: str, new: str) -> _File:
    file.old, file.new = without_prefixes(old, new)
    file.added, file.deleted = file.added or old == NOWHERE, file.deleted or new == NOWHERE
    if file.added and file.deleted:
        file.added = False
    return file


def _take_header(file: _File, name: str, value: str) -> None:
    if name == "index":
        mode = value.rpartition(" ")[2]
        file.submodule = file.submodule or mode == "160000"
    elif name in ("rename from", "copy from"):
        file.old, file.renamed = unquoted(value), name == "rename from"
    elif name in ("rename to", "copy to"):
        file.new = unquoted(value)
        file.added = name == "copy to"
    elif re.fullmatch(r"[0-7]{5,6}", value):
        mode_number = int(value, 8)
        file.added, file.deleted = name == "new file mode", name == "deleted file mode"
        file.submodule = file.submodule or mode_number == _GITLINK
        if name.startswith(("old", "deleted")):
            file.old_mode = mode_number
        else:
            file.new_mode = mode_number


def _merged(files: list[FileChange]) -> tuple[FileChange, ...]:
    """Merges changes of the same path, which occur in a series of patches, and for a file that became a link."""
    by_path: dict[str, FileChange] = {}
    for file in files:
        before = by_path.pop(file.path, None)
        if file.old_path in by_path and before is None:
            earlier = by_path.pop(file.old_path or "")
            file = replace(file, hunks=earlier.hunks + file.hunks, cut=earlier.cut or file.cut)
            if earlier.kind is ChangeKind.ADDED:
                file = replace(file, kind=ChangeKind.ADDED, old_path=None)
        by_path[file.path] = _both(before, file) if before else file
    return tuple(by_path.values())


def _both(first: FileChange, then: FileChange) -> FileChange:
    kind = then.kind if first.kind is ChangeKind.MODIFIED else first.kind
    if first.kind is ChangeKind.DELETED and then.kind is ChangeKind.ADDED:
        kind = ChangeKind.MODIFIED
    if then.kind is ChangeKind.DELETED:
        kind = ChangeKind.DELETED
    return replace(
        then,
        kind=kind,
        old_path=first.old_path or then.old_path,
        hunks=first.hunks + then.hunks,
        old_mode=first.old_mode if first.old_mode is not None else then.old_mode,
        cut=first.cut or then.cut,
    )
