"""Dependencies that a change adds, removes or updates, read from the manifests. Lock files are not read, because they
only repeat the manifests."""

import re
from dataclasses import dataclass

from gateway.connectors.codebase.git.changes import FileChange

_VERSION = r"[~^>=<! ]*v?\d+(?:\.\d+)*[\w.+-]*"
_MANIFESTS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (
        re.compile(r"(^|/)(package|composer)\.json$"),
        re.compile(rf'\s*"((?:@[\w.-]+/)?[\w.-]+(?:/[\w.-]+)?)":\s*"(?:npm:[^"@]*@)?({_VERSION})"'),
    ),
    (re.compile(r"(^|/)go\.mod$"), re.compile(r"\s*(?:require\s+)?([\w.-]+\.[\w-]+/[\w./-]+)\s+(v\d\S*)")),
    (
        re.compile(r"(^|/)(Cargo|pyproject)\.toml$"),
        re.compile(rf'\s*([\w.-]+)\s*=\s*(?:\{{[^}}]*?version\s*=\s*)?"({_VERSION})"'),
    ),
    (
        re.compile(r"(^|/)(requirements[\w.-]*\.(txt|in)|pyproject\.toml)$"),
        re.compile(r"\s*[\"']?([A-Za-z][\w.-]*)(?:\[[^\]]*\])?\s*([~>=<!]=?=?\s*\d[\w.*]*)"),
    ),
    (re.compile(r"(^|/)Gemfile$"), re.compile(rf"\s*gem\s+[\"']([\w-]+)[\"'],\s*[\"']({_VERSION})[\"']")),
)
_NO_DEPENDENCY = frozenset(
    ("version", "node", "npm", "pnpm", "yarn", "python", "rust-version", "edition", "requires-python")
)


@dataclass(frozen=True, slots=True)
class DependencyChange:
    """`old` is None if the dependency was added, `new` is None if it was removed. `path`: the manifest."""

    name: str
    old: str | None
    new: str | None
    path: str


def dependency_changes(files: tuple[FileChange, ...]) -> tuple[DependencyChange, ...]:
    found: dict[str, DependencyChange] = {}
    for file in files:
        for manifest, line in _MANIFESTS:
            if manifest.search(file.path):
                for each in _in_file(file, line):
                    found.setdefault(each.name, each)
    return tuple(found.values())


def _in_file(file: FileChange, pattern: re.Pattern[str]) -> list[DependencyChange]:
    versions: dict[str, dict[str, str]] = {"-": {}, "+": {}, " ": {}}
    for hunk in file.hunks:
        for line in hunk.lines:
            found = pattern.match(line.text)
            if found and found[1] not in _NO_DEPENDENCY:
                versions[line.mark][found[1]] = found[2].strip()
    old, new = versions["-"], versions["+"]
    names = [name for name in {**old, **new} if old.get(name) != new.get(name) and name not in versions[" "]]
    return [DependencyChange(name, old.get(name), new.get(name), file.path) for name in names]
