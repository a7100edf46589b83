"""Checks a message against its diff: every name in it must occur in the diff, on the side (added or removed) that the
sentence states."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.connectors.codebase.commits.facts import lines_of
from gateway.connectors.codebase.commits.quoting import shown
from gateway.connectors.codebase.git.changes import ChangeKind, FileChange
from gateway.connectors.codebase.secrets import sanitized

_PREFIX = re.compile(r"\A[a-z]+(?:\([^)\n]*\))?!?: ")  # not checked, as a scope need not occur in the diff
_PIECE = re.compile(
    r"`(?P<quoted>[^`\n]+)`|[\"“”„«](?P<said>[^\"“”„«»\n]+)[\"“”»]|(?P<name>\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*)\b)"
    r"|(?P<word>\b(?i:add|use|mention|cover|remove|drop|delete|rename|change|bump|move|update|correct|rework"
    r"|in|of|for|from|to)\b|[;:\n])"
)
_ADDING = frozenset(("add", "use", "mention", "cover"))
_REMOVING = frozenset(("remove", "drop", "delete"))
_OTHER = {"add": "-", **dict.fromkeys(_REMOVING, "+")}
_REPLACING = frozenset(("rename", "change"))  # from the old name to the new one


class Truth:
    """Built once for some files of a diff, and used for any text. `secrets`: values in the diff that no text may
    contain."""

    def __init__(self, files: Iterable[FileChange], secrets: frozenset[str] = frozenset()) -> None:
        self._secrets = secrets
        sides: dict[str, list[str]] = {"+": [], "-": [], " ": []}
        for file in files:
            sides[" "] += [shown(file.path), shown(file.old_path or ""), *(hunk.heading for hunk in file.hunks)]
            for side, path in _sides(file):
                sides[side].append(shown(path))
            for line in lines_of(file):
                sides[line.mark].append(line.text)
        self._added, self._removed = "\n".join(sides["+"]), "\n".join(sides["-"])
        self._all = "\n".join((*sides[" "], self._added, self._removed))

    def holds(self, text: str) -> bool:
        """Whether the text may be used: the diff confirms its names, and it contains no secret."""
        if self.false_claims(text) or any(secret in text for secret in self._secrets):
            return False
        return sanitized(text) == text

    def false_claims(self, text: str) -> tuple[str, ...]:
        """The names that the diff lacks, or lacks on the side that the text states."""
        return tuple(each.name for each in _claims(without_type(text)) if not stands(each.name, self._of(each.side)))

    def claims_of_both_sides(self, text: str) -> tuple[str, ...]:
        """The names that the text calls added or removed, but that also occur on the other side: they were moved or
        changed."""
        claims = (each for each in _claims(without_type(text)) if each.verb in _OTHER)
        return tuple(each.name for each in claims if stands(each.name, self._of(_OTHER[each.verb])))

    def _of(self, side: str) -> str:
        return {"+": self._added, "-": self._removed}.get(side, self._all)


def names_in(text: str) -> tuple[str, ...]:
    """What the text quotes, and words that look like code."""
    return tuple(each.name for each in _claims(text))


def without_type(title: str) -> str:
    """The title without the type and the scope of a conventional one."""
    return _PREFIX.sub("", title)


def _sides(file: FileChange) -> list[tuple[str, str]]:
    if file.kind is ChangeKind.RENAMED:
        return [("-", file.old_path or ""), ("+", file.path)]
    return {ChangeKind.ADDED: [("+", file.path)], ChangeKind.DELETED: [("-", file.path)]}.get(file.kind, [])


@dataclass(frozen=True, slots=True)
class _Claim:
    """`side`: "+", "-", or " " if the sentence states none. `verb`: the verb that states the side, in lower case."""

    name: str
    side: str
    verb: str


def _claims(text: str) -> Iterator[_Claim]:
    """A claim for each name in the text."""
    side, verb = " ", ""
    for piece in _PIECE.finditer(text):
        word = (piece["word"] or "").lower()
        if not word:
            yield _Claim(piece["quoted"] or (piece["said"] or piece["name"]).strip(), side, verb if side != " " else "")
        elif word == "to":
            side = "+" if verb in _REPLACING or verb == "bump" else " "
        elif word == "from":
            side = "-" if verb == "bump" else " "
        else:
            side = "+" if word in _ADDING else "-" if word in _REMOVING or word in _REPLACING else " "
            verb = word


def stands(name: str, text: str) -> bool:
    """Whether the name is in the text as a whole word: `read` is not in "reader"."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (_joins(before, name[0]) or _joins(after, name[-1])):
            return True
        at = text.find(name, at + 1)
    return False


def _joins(outside: str, inside: str) -> bool:
    return bool(outside) and (outside.isalnum() or outside == "_") and (inside.isalnum() or inside == "_")
