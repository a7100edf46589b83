"""Evidence in the lines of source: what its hunks add and remove, and how a line differs from the one that it
replaces."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import log2

from gateway.connectors.codebase.git.changes import FileChange, Hunk

_GUARD = re.compile(r"^\s*(if|unless|guard|elif|else if|\}\s*else if)\b")
_LEAVING = re.compile(r"^\s*(return|continue|break|throw|raise|panic)\b")
_CONDITION = re.compile(r"^\s*(\}\s*)?(if|unless|while|elif|else if|when|guard|match|switch)\b|&&|\|\|")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LONG = 400  # characters of a line that are read
_HUNKS = 500  # hunks that are read
_REPLACED = 20  # hunks that replace more lines than this are not compared line by line


def of_hunks(files: Iterable[FileChange]) -> dict[str, float]:
    """Evidence from the changed lines of source files."""
    hunks = [hunk for file in files for hunk in file.hunks][:_HUNKS]
    counts = Counter[str]()
    for hunk in hunks:
        counts.update(_of_hunk(hunk))
    if not hunks:
        return {}
    found = {f"{name} hunks, share": counts.pop(name, 0) / len(hunks) for name in ("added", "removed", "even")}
    found[f"hunks about {rough(len(hunks))}"] = 1.0
    for name, count in counts.items():
        found[name] = 1.0
        found[f"{name}, number"] = log2(1 + count) / 2
    return found


def rough(number: int) -> int:
    """The binary magnitude of the number, 0 to 8."""
    return min(8, int(log2(number + 1)))


def is_typo(old: str, new: str) -> bool:
    """Whether two words differ by a letter or two. False for short words, and for words with other characters than
    letters."""
    if not (old.isalpha() and new.isalpha() and len(old) > 3 and abs(len(old) - len(new)) <= 2):
        return False
    shorter = min(len(old), len(new))
    before = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    after = next((at for at in range(shorter - before) if old[-1 - at] != new[-1 - at]), shorter - before)
    return max(len(old), len(new)) - before - after <= 2


def replaced(hunk: Hunk) -> list[tuple[str, str]]:
    """(old, new) of each replaced line, if the hunk adds as many lines as it removes, and at most _REPLACED; otherwise
    none."""
    removed = [line.text[:_LONG] for line in hunk.lines if line.mark == "-"]
    added = [line.text[:_LONG] for line in hunk.lines if line.mark == "+"]
    return list(zip(removed, added, strict=True)) if len(removed) == len(added) <= _REPLACED else []


def differing_words(old: str, new: str) -> list[tuple[str, str]]:
    """The pairs of words that differ, if both lines have the same number of words; otherwise none."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    return [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] if len(before) == len(after) else []


def _of_hunk(hunk: Hunk) -> Counter[str]:
    marks = Counter(line.mark for line in hunk.lines)
    found = Counter[str]()
    found["added"] = int(not marks["-"])
    found["removed"] = int(bool(marks["-"]) and not marks["+"])
    found["even"] = int(0 < marks["-"] == marks["+"])
    for line, following in pairwise((*hunk.lines, None)):
        if line and line.mark == "+" and _GUARD.match(line.text):
            found["guard added"] += 1
            found["leaving guard added"] += bool(following and _LEAVING.match(following.text))
    for old, new in replaced(hunk):
        found.update(_of_pair(old, new))
    return +found


def _of_pair(old: str, new: str) -> Iterable[str]:
    if _CONDITION.search(old) and _CONDITION.search(new):
        yield "condition changed"
    if _STRING.sub("", old) == _STRING.sub("", new):
        yield "text changed"
    words = differing_words(old, new)
    if len(words) == 1:
        yield "one word changed"
    if words and all(is_typo(*pair) for pair in words):
        yield "typo"
    if words and all(each.isdigit() for pair in words for each in pair):
        yield "numbers changed"
    if not words and new.startswith(old.rstrip(" ;,)}")):
        yield "line made longer"
