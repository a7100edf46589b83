"""Finds the words that characterise a small change: those that occur only on one side of it."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from gateway.connectors.codebase.commits.facts import lines_of
from gateway.connectors.codebase.git.changes import DiffLine, FileChange
from gateway.connectors.codebase.secrets import may_be_key, may_set_secret

_WORD = re.compile(r"[A-Za-z_@][\w@]*(?:[./:-][\w@]+)*[?!]?|\d+(?:\.\d+)+[\w.-]*")
_WORD_OR_NUMBER = re.compile(rf"{_WORD.pattern}|\b\d+\b")
_VERSION = re.compile(r"(?<=[:/@])v?\d+\..*")
_TEST = re.compile(r"""\b(?:it|test|describe|specify|scenario)(?:\.\w+)*\(\s*(["'`])([^"'`$\\]{4,60})\1""")
_HASH = re.compile(r"(?<![\w/+])(?:sha(?:1|256|384|512)-|h1:)[\w+/]{20,}={0,2}")  # as in lock files
_LONG = 400  # characters of a line that are read; the rest is data, or generated
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "the and for with this that not are was from into when then else return const let var function def class "
        "import export await async self null none true false new type string number boolean void public "
        "private static final use have has will can should must been its you your our they which what only also more "
        "than each any all but "
        "one two see here there how etc https http www com",
    )
)


def gained_tests(file: FileChange) -> tuple[str, ...]:
    """The descriptions of the tests that the change adds to a file."""
    sides: dict[str, list[str]] = {"+": [], "-": [], " ": []}
    for line in lines_of(file):
        for found in _TEST.finditer(line.text[:_LONG]):
            sides[line.mark].append(found[2].strip())
    return tuple(name for name in dict.fromkeys(sides["+"]) if name not in sides["-"] and name not in sides[" "])


def replaced_word(file: FileChange) -> tuple[str, str] | None:
    """(old, new) if the whole change consists of replacing the word `old` by `new`."""
    pairs: Counter[tuple[str, str]] = Counter()
    for hunk in file.hunks:
        removed = [line.text for line in hunk.lines if line.mark == "-"]
        added = [line.text for line in hunk.lines if line.mark == "+"]
        if len(removed) != len(added) or len(removed) > 20:
            return None
        for old, new in zip(removed, added, strict=True):
            pair = _replaced_word_in(old, new)
            if pair is None:
                return None
            pairs[pair] += 1
    return next(iter(pairs)) if len(pairs) == 1 else None


def first_replaced_word(file: FileChange) -> tuple[str, str] | None:
    """(old, new) of the first replaced line that differs in only one word or number. Hunks that add more or fewer lines
    than they remove are skipped."""
    for hunk in file.hunks:
        removed = [line.text for line in hunk.lines if line.mark == "-"]
        added = [line.text for line in hunk.lines if line.mark == "+"]
        if len(removed) == len(added):
            pairs = (_replaced_word_in(old, new, _WORD_OR_NUMBER) for old, new in zip(removed, added, strict=True))
            if pair := next(filter(None, pairs), None):
                return pair
    return None


def _replaced_word_in(old: str, new: str, word: re.Pattern[str] = _WORD) -> tuple[str, str] | None:
    if max(len(old), len(new)) > _LONG or may_set_secret(old) or may_set_secret(new):
        return None
    before, after = word.findall(old), word.findall(new)
    steps = [step for step in SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if step[0] != "equal"]
    if len(steps) != 1 or steps[0][0] != "replace":
        return None
    _, left, left_end, right, right_end = steps[0]
    if left_end - left != 1 or right_end - right != 1:
        return None
    pair = _differing(before[left], after[right])
    return None if any(map(may_be_key, pair)) else pair


def _differing(old: str, new: str) -> tuple[str, str]:
    """The two words, or only their versions if the same name precedes both: 1.2 and 1.3 of org.example:core:1.2 and
    org.example:core:1.3."""
    versions = _VERSION.search(old), _VERSION.search(new)
    if versions[0] and versions[1] and old[: versions[0].start()] == new[: versions[1].start()]:
        return versions[0][0], versions[1][0]
    return old, new


def salient(file: FileChange, mark: str) -> tuple[str, ...]:
    """Words of the lines with this mark ("+" or "-") that the lines with the other mark lack; if some of them are in no
    unchanged line, only these. Names of code come first, then frequent and longer words."""
    sides: dict[str, Counter[str]] = {"+": Counter(), "-": Counter(), " ": Counter()}
    for line, start in _read_from(file):
        if not may_set_secret(line.text[max(0, start - _LONG) : start + _LONG]):
            sides[line.mark].update(_WORD.findall(_HASH.sub(" ", line.text[start : start + _LONG])))
    other = "-" if mark == "+" else "+"
    words = [word for word in sides[mark] if word not in sides[other] and _tells(word)]
    new = [word for word in words if word not in sides[" "]]
    return tuple(sorted(new or words, key=lambda word: (-_rank(word), -sides[mark][word], -len(word), word)))


def _read_from(file: FileChange) -> Iterator[tuple[DiffLine, int]]:
    """Each line, and the position from which it is read. A long line that replaces another is read from where they
    differ."""
    for hunk in file.hunks:
        removed = [line.text for line in hunk.lines if line.mark == "-"]
        added = [line.text for line in hunk.lines if line.mark == "+"]
        starts = [0] * len(added)
        if len(removed) == len(added):
            starts = [_differs_from(old, new) for old, new in zip(removed, added, strict=True)]
        following = {"-": iter(starts), "+": iter(starts)}
        for line in hunk.lines:
            start = next(following[line.mark], 0) if line.mark != " " else 0
            yield line, start


def _differs_from(old: str, new: str) -> int:
    """Where the first word that differs begins; 0 for lines that are read whole."""
    if max(len(old), len(new)) <= _LONG:
        return 0
    start = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    return max(old.rfind(" ", 0, start), old.rfind('"', 0, start)) + 1


def _tells(word: str) -> bool:
    return 3 <= len(word) <= 36 and word.lower() not in _COMMON and not may_be_key(word)


def _rank(word: str) -> int:
    """2 for names of code, 1 for words with a capital, digit, full stop or hyphen, 0 for others."""
    if "_" in word.strip("_") or re.search(r"[a-z][A-Z]|\w[@:]", word):
        return 2
    return int(bool(re.search(r"[A-Z0-9.-]", word)))
