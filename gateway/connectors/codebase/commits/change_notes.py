"""Reads the kind of a change from the changelog notes that it adds."""

import re
from collections.abc import Iterable, Iterator

from gateway.connectors.codebase.git.changes import FileChange, Hunk
from gateway.connectors.codebase.tree.path_kinds import PathKind, kind_of, language_of

_NOTE = re.compile(
    r"(^|/)(\.?change(s|log|logs|set|sets)?|news|newsfragments|unreleased|release-?notes?|towncrier|changelog\.d)/"
    r"|(^|/)(CHANGELOG|CHANGES|HISTORY|NEWS|RELEASE)[^/]*$",
    re.IGNORECASE,
)
# Files of these kinds are not notes, such as workflows/release.yml.
_NO_PROSE = (PathKind.CI, PathKind.TEST, PathKind.DEPENDENCIES)
_KIND = r"(?:(?P<fix>(?:bug-?)?fix(?:e[sd])?|bugs?)|(?P<feat>feat(?:ure)?s?|add(?:s|ed)?|enhancements?|new))\b"
# In the name of a note: 123.bugfix.md, feat-123.md.
_IN_NAME = re.compile(rf"(?:^|[-._]){_KIND}", re.IGNORECASE)
# "kind: Fixed", '"core": "patch:bug"', "### Fixed", "- Fixed the parser", ".. change:: Add a parser"
_IN_LINE = re.compile(rf"[-*+#.:\s]*(?:[\w@/\"'][\w@/\"'.-]*::?\s*[\"']?)?(?:\w+:)?[*_`(\[]*{_KIND}", re.IGNORECASE)
_MINOR = re.compile(r"\s*[\"'][^\"']+[\"']\s*:\s*[\"']?minor\b")  # a line in the front matter of a change set
_HEADING = re.compile(r"#{2,5}\s")
_RELEASE = re.compile(r"(#+\s*)?\[?v?\d+\.\d+\.\d+\b")
_HUNKS, _LINES, _LONG = 20, 100, 200  # what is read: hunks of a note, lines of a hunk, characters of a line


def is_note(path: str) -> bool:
    return bool(_NOTE.search(path)) and not language_of(path) and kind_of(path) not in _NO_PROSE


def noted_kind(files: Iterable[FileChange]) -> str:
    """The kind of change that the notes among the files state: "release" if they gain the heading of a version, "feat"
    or "fix" if they state one of these and not the other; otherwise empty."""
    found = {kind for file in files if is_note(file.path) for kind in _kinds(file)}
    return "release" if "release" in found else found.pop() if len(found) == 1 else ""


def _kinds(file: FileChange) -> Iterator[str]:
    yield from _kind(_IN_NAME.search(file.path.rpartition("/")[2]))
    for hunk in file.hunks[:_HUNKS]:
        yield from _kinds_of_lines(hunk)


def _kinds_of_lines(hunk: Hunk) -> Iterator[str]:
    """An added line has the kind that the heading above it states, such as "### Fixed", or else the kind that it states
    itself."""
    heading: list[str] = []
    for line in hunk.lines[:_LINES]:
        text = line.text[:_LONG]
        if _HEADING.match(text) and line.mark != "-":
            heading = _kind(_IN_LINE.match(text))
        if line.mark == "+" and _RELEASE.match(text):
            yield "release"
        elif line.mark == "+" and _MINOR.match(text):
            yield "feat"
        elif line.mark == "+" and text.strip():
            yield from heading or _kind(_IN_LINE.match(text))


def _kind(found: re.Match[str] | None) -> list[str]:
    return [found.lastgroup] if found and found.lastgroup else []
