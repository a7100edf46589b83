"""Checks a message against its diff: every name in it stands in the diff, on the side that the sentence says."""

import re
from collections.abc import Iterator

from gateway.connectors.codebase.commits.facts import lines_of
from gateway.connectors.codebase.commits.shown import shown
from gateway.connectors.codebase.git.changes import ChangeKind, ChangeSet, FileChange

_PREFIX = re.compile(r"\A[a-z]+(?:\([^)\n]*\))?!?: ")  # a scope is the project's word, not the diff's
_PIECE = re.compile(
    r"`(?P<quoted>[^`\n]+)`|\"(?P<said>[^\"\n]+)\"|(?P<name>\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b)"
    r"|(?P<word>\b(?i:add|use|mention|cover|remove|drop|delete|rename|change|bump|move|update|correct|rework"
    r"|in|of|for|from|to)\b|[;:\n])"
)
_ADDING = frozenset(("add", "use", "mention", "cover"))
_REMOVING = frozenset(("remove", "drop", "delete"))
_TURNING = frozenset(("rename", "change"))  # from the old name to the new one


class Truth:
    """Made once for a diff, asked about any text."""

    def __init__(self, changes: ChangeSet) -> None:
        sides: dict[str, list[str]] = {"+": [], "-": [], " ": []}
        for file in changes.files:
            sides[" "] += [shown(file.path), shown(file.old_path or ""), *(hunk.heading for hunk in file.hunks)]
            for side, path in _sides(file):
                sides[side].append(shown(path))
            for line in lines_of(file):
                sides[line.mark].append(line.text)
        self._added, self._removed = "\n".join(sides["+"]), "\n".join(sides["-"])
        self._all = "\n".join((*sides[" "], self._added, self._removed))

    def false_claims(self, text: str) -> tuple[str, ...]:
        """The names that the diff does not bear out."""
        return tuple(name for side, name in _claims(_PREFIX.sub("", text)) if not _stands(name, self._of(side)))

    def _of(self, side: str) -> str:
        return {"+": self._added, "-": self._removed}.get(side, self._all)


def _sides(file: FileChange) -> list[tuple[str, str]]:
    if file.kind is ChangeKind.RENAMED:
        return [("-", file.old_path or ""), ("+", file.path)]
    return {ChangeKind.ADDED: [("+", file.path)], ChangeKind.DELETED: [("-", file.path)]}.get(file.kind, [])


def _claims(text: str) -> Iterator[tuple[str, str]]:
    """(side, name) of every name: "+", "-", or " " where the sentence names no side."""
    side, verb = " ", ""
    for piece in _PIECE.finditer(text):
        word = (piece["word"] or "").lower()
        if not word:
            yield side, piece["quoted"] or piece["said"] or piece["name"]
        elif word == "to":
            side = "+" if verb in _TURNING or verb == "bump" else " "
        elif word == "from":
            side = "-" if verb == "bump" else " "
        else:
            side = "+" if word in _ADDING else "-" if word in _REMOVING or word in _TURNING else " "
            verb = word


def _stands(name: str, text: str) -> bool:
    """As a whole word: `read` does not stand in "reader"."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_joins(before, name[0]) or _joins(after, name[-1])):
            return True
        at = text.find(name, at + 1)
    return False


def _joins(outside: str, inside: str) -> bool:
    return bool(outside) and (outside.isalnum() or outside == "_") and (inside.isalnum() or inside == "_")
