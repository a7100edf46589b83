"""The scope of a query: which files it is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pathspec import GitIgnoreSpec

from context_protection.core.cached_property import cached_property
from context_protection.core.errors import InvalidArgument
from gateway.connectors.codebase.tree.paths import PathRefused, parts_of

DIRECTORIES, PATTERNS, EXCLUDED = "directories", "filePatterns", "excludePatterns"


@dataclass(frozen=True)
class QueryScope:
    """Folders, and patterns in the syntax of .gitignore. Empty `directories` or `patterns` leave nothing out."""

    directories: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "QueryScope":
        """The scope that a call gives. Raises InvalidArgument for a path that leads out of the project."""
        folders = [_folder(each) for each in given.get(DIRECTORIES, ())]
        for name in (PATTERNS, EXCLUDED):
            for pattern in given.get(name, ()):
                _check_inside(name, pattern, pattern.removeprefix("!").removeprefix("/"))  # a slash anchors at the root
        return cls(
            tuple(folder for folder in folders if folder) if all(folders) else (),
            tuple(given.get(PATTERNS, ())),
            tuple(given.get(EXCLUDED, ())),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the scope leaves nothing out."""
        return not (self.directories or self.patterns or self.excluded)

    def holds(self, path: str) -> bool:
        return (
            (not self.directories or path.startswith(self._below))
            and (not self.patterns or self._taken.match_file(path))
            and not (self.excluded and self._left_out.match_file(path))
        )

    @cached_property
    def _below(self) -> tuple[str, ...]:
        return tuple(f"{each}/" for each in self.directories)

    @cached_property
    def _taken(self) -> GitIgnoreSpec:
        return GitIgnoreSpec.from_lines(self.patterns)

    @cached_property
    def _left_out(self) -> GitIgnoreSpec:
        return GitIgnoreSpec.from_lines(self.excluded)


def _folder(given: str) -> str:
    """The folder's path from the root; empty for the root itself."""
    if given.strip("./") == "" and ".." not in given and not given.startswith("/"):
        return ""
    return "/".join(_check_inside(DIRECTORIES, given, given))


def _check_inside(name: str, given: str, path: str) -> Sequence[str]:
    try:
        return parts_of(path)
    except PathRefused as refused:
        raise InvalidArgument(
            str(refused),
            reason="path_refused",
            parameter=f"scope.{name}",
            value=given,
            expected="a path below the project's root, such as src" if name == DIRECTORIES else "a glob, such as *.py",
            suggestion=f"Leave {given[:80]!r} out of scope.{name}.",
        ) from None
