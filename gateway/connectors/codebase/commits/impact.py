"""The parts of a project that a change may affect, for reviewers."""

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from gateway.connectors.codebase.commits.dependencies import DependencyChange
from gateway.connectors.codebase.commits.facts import ChangeFacts, FileFacts
from gateway.connectors.codebase.commits.quoting import listed, quoted, shown
from gateway.connectors.codebase.tree.path_kinds import PathKind

_AREAS, _FOCUS = 8, 8
_LARGE, _SMALL = 500, 20  # changed lines of source


class ImpactSeverity(StrEnum):
    """None: nothing that runs for users. Minor: a few lines. Moderate: new behaviour or dependencies. Major: callers
    may break, or much of the source changes."""

    NONE = "None"
    MINOR = "Minor"
    MODERATE = "Moderate"
    MAJOR = "Major"


@dataclass(frozen=True, slots=True)
class Impact:
    severity: ImpactSeverity
    areas: tuple[str, ...]
    review_focus: tuple[str, ...]


def impact_of(facts: ChangeFacts) -> Impact:
    return Impact(_severity(facts), _areas(facts), tuple(_focus(facts))[:_FOCUS])


def _source(facts: ChangeFacts) -> list[FileFacts]:
    return [file for file in facts.files if file.kind is PathKind.SOURCE]


def _severity(facts: ChangeFacts) -> ImpactSeverity:
    source = [file for file in _source(facts) if not (file.comments_only or file.blanks_only)]
    lines = sum(file.plus + file.minus for file in source)
    if any(file.broken for file in source) or lines > _LARGE or any(map(_major, facts.dependencies)):
        return ImpactSeverity.MAJOR
    if lines > _SMALL or facts.dependencies or any(file.changed or file.removed or file.added for file in source):
        return ImpactSeverity.MODERATE
    quiet = {PathKind.DOCS, PathKind.TEST, PathKind.SOURCE}
    return (
        ImpactSeverity.MINOR if source or any(file.kind not in quiet for file in facts.files) else ImpactSeverity.NONE
    )


def _major(change: DependencyChange) -> bool:
    """Whether the major version differs, or the dependency was removed."""
    old, new = (re.search(r"\d+", version or "") for version in (change.old, change.new))
    return bool(old and (new is None or old[0] != new[0]))


def _areas(facts: ChangeFacts) -> tuple[str, ...]:
    """The folders of the change, those with the most changed lines first. Files in the root count under their kind."""
    lines: Counter[str] = Counter()
    for file in facts.files:
        folders = file.change.path.split("/")[:-1]
        lines[shown("/".join(folders[:2])) if folders else file.kind.value] += 1 + file.plus + file.minus
    return tuple(area for area, _ in lines.most_common(_AREAS))


def _focus(facts: ChangeFacts) -> list[str]:
    found: list[str] = []
    source = _source(facts)
    if facts.truncated:
        found.append("The diff is cut: its missing part was not checked.")
    for file in source:
        if file.broken and not facts.truncated:
            found.append(f"Callers of {listed(file.broken)}, gone from {quoted(file.change.path)}.")
        if file.changed:
            new = "its signature is" if len(file.changed) == 1 else "their signatures are"
            found.append(f"Callers of {listed(file.changed)} in {quoted(file.change.path)}: {new} new.")
    known = [each for each in facts.dependencies if each.new or not facts.truncated]
    for each in known[:3]:
        step = "is new" if each.old is None else "is gone" if each.new is None else f"goes to {quoted(each.new)}"
        found.append(f"The dependency {quoted(each.name)} {step}.")
    working = [file for file in source if not (file.comments_only or file.blanks_only)]
    if working and not facts.truncated and not any(file.kind is PathKind.TEST for file in facts.files):
        largest = max(working, key=lambda file: file.plus + file.minus)
        found.append(f"No test changes with {quoted(largest.change.path)}.")
    if ci := [file.change.path for file in facts.files if file.kind is PathKind.CI]:
        found.append(f"What {listed(tuple(ci), 2)} may do: permissions, secrets, triggers.")
    if binary := [file.change.path for file in facts.files if file.change.binary]:
        found.append(f"The contents of {listed(tuple(binary), 2)}: a diff does not show them.")
    return found
