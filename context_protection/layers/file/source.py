"""Reads the configuration file again whenever it has changed.

If the file is invalid, missing or half-written, the last valid version stays in force. If there has been none since the
start, the defaults are in force.
"""

import hashlib
import logging
import os
import stat
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from context_protection.layers.file.documents import MOST_BYTES, FileProblem, InvalidDocument, parsed
from context_protection.layers.file.layer import NO_FILE, FileLayer, layer_of
from context_protection.layers.value_changes import ValueChange, set_values

logger = logging.getLogger(__name__)
MAX_PROBLEMS = 50  # problems of one file that are reported

Signature = tuple[int, int, int] | str  # modification time, size and inode; or why there is no file
Check = Callable[[FileLayer], Sequence[FileProblem]]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """Whether the file is in force, and why not. `path`: "" if no file is configured. `problems`: the errors of the
    current file; empty if it is in force. `digest`: that of the version in force; "" if the defaults are. `since`: the
    time of the last change of this status."""

    path: str = ""
    problems: tuple[FileProblem, ...] = ()
    digest: str = ""
    since: datetime | None = None

    @property
    def name(self) -> str:
        return Path(self.path).name

    @property
    def stays(self) -> str:
        """A sentence that says what is in force instead of a rejected file."""
        return "The last valid version stays in force." if self.digest else "The defaults are in force."


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The result of reading a changed file. `changes`: what an accepted file changed; empty for a rejected one."""

    status: FileStatus
    changes: Sequence[ValueChange] = ()


class ConfigurationFile:
    """The file that CONFIG_FILE names. Not thread-safe: the loader of budgets calls it under its own lock."""

    def __init__(self) -> None:
        self._forget("")

    def _forget(self, path: str) -> None:
        self.layer = NO_FILE
        self.status = FileStatus(path)
        self.outcomes: deque[FileOutcome] = deque(maxlen=100)  # for the watcher to report
        self._seen: Signature | None = None  # of the version that was read last
        # A file's layer that is valid on its own but contradicts another layer, and the file's digest.
        self._waiting: tuple[FileLayer, str] | None = None

    @property
    def path(self) -> str:
        return str(getattr(settings, "CONFIG_FILE", ""))

    @property
    def has_changed(self) -> bool:
        """Whether the file has changed since it was read last. Costs one stat."""
        return bool(self.path) and signature(self.path) != self._seen

    def latest(self, check: Check) -> FileLayer:
        """Reads the file if it has changed, and returns the layer in force. `check` returns the contradictions between
        a new layer and the others. Blocks. Never raises."""
        if self.path != self.status.path:
            self._forget(self.path)
        if self.has_changed:
            self._read(check)
        elif self._waiting is not None and not check(self._waiting[0]):  # a change of another layer has resolved it
            self._accept(*self._waiting)
        return self.layer

    def _read(self, check: Check) -> None:
        self._waiting = None
        self._seen = signature(self.path)  # before the file is read: a later change is another version
        try:
            content, self._seen = content_of(self.path, advice=" Restore the file, or unset CONFIG_FILE and restart.")
            layer, problems = layer_of(parsed(content, Path(self.path).suffix.lower()))
        except InvalidDocument as error:
            self._reject([error.problem])
            return
        digest = hashlib.sha256(content).hexdigest()[:12]
        if not problems and (problems := list(check(layer))):
            self._waiting = layer, digest
        self._reject(problems) if problems else self._accept(layer, digest)

    def _accept(self, layer: FileLayer, digest: str) -> None:
        changes = set_values(self.layer.values, layer.values)
        self._waiting, self.layer = None, layer
        self.status = FileStatus(self.path, digest=digest, since=datetime.now(UTC))
        self.outcomes.append(FileOutcome(self.status, changes))
        fields = {each.key: each.words for each in changes}
        logger.info("configuration changed", extra={"kind": "file", "object": self.status.name, "fields": fields})

    def _reject(self, problems: Sequence[FileProblem]) -> None:
        shown = tuple(problems[:MAX_PROBLEMS])
        self.status = replace(self.status, path=self.path, problems=shown, since=datetime.now(UTC))
        self.outcomes.append(FileOutcome(self.status))
        extra = {"file": self.path, "problems": list(map(str, shown)), "instead": self.status.stays}
        logger.error("configuration file rejected", extra=extra)


def content_of(path: str, *, advice: str = "") -> tuple[bytes, Signature]:
    """The file's content, and its signature. Raises InvalidDocument, with `advice`, if the file cannot be read, or
    changes while it is read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror})", advice) from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _unreadable(path, "is not a file", advice)
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, f"cannot be read ({error.strerror})", advice) from None
    finally:
        os.close(handle)
    read_signature = _signature(found)
    if read_signature != signature(path):
        raise InvalidDocument(FileProblem(None, "", f"{path} was changed or removed while it was read."))
    return content, read_signature


def signature(path: str) -> Signature:
    try:
        return _signature(os.stat(path))
    except OSError as error:
        return error.strerror or type(error).__name__


def _signature(found: os.stat_result) -> Signature:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _unreadable(path: str, problem: str, advice: str) -> InvalidDocument:
    return InvalidDocument(FileProblem(None, "", f"{path} {problem}.{advice}"))


configuration_file = ConfigurationFile()
