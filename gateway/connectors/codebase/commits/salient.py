"""The words by which one small change differs from another: what only one side of it names."""

import re
from collections import Counter
from difflib import SequenceMatcher

from gateway.connectors.codebase.commits.facts import lines_of
from gateway.connectors.codebase.git.changes import FileChange

_WORD = re.compile(r"[A-Za-z_@][\w@]*(?:[./:-][\w@]+)*[?!]?|\d+(?:\.\d+)+[\w.-]*")
_TEST = re.compile(r"""\b(?:it|test|describe|specify|scenario)(?:\.\w+)*\(\s*(["'`])([^"'`$\\]{4,60})\1""")
# A line that sets a secret is not quoted, nor a word that looks like a key.
_SECRET_LINE = re.compile(
    r"(pass(word|wd|phrase)?|secret|token|api.?key|access.?key|private.?key|credential|auth\w*|bearer|BEGIN )"
    r"[\w.'\"\]-]*\s*[=:>]",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(AKIA|ASIA|gh[pousr]_|github_pat|xox[a-z]-|sk-|eyJ|glpat-|npm_|pypi-)\S*|(?=.*\d)(?=.*[A-Za-z])\S{24,}"
)
_LONG = 400  # characters of a line that are read: the rest is data, or made by a tool
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
    """The descriptions of the tests that a file gains."""
    sides: dict[str, list[str]] = {"+": [], "-": [], " ": []}
    for line in lines_of(file):
        for found in _TEST.finditer(line.text[:_LONG]):
            sides[line.mark].append(found[2].strip())
    return tuple(name for name in dict.fromkeys(sides["+"]) if name not in sides["-"] and name not in sides[" "])


def turned(file: FileChange) -> tuple[str, str] | None:
    """(old, new) where a word takes the place of another on a line that is else the same, everywhere."""
    pairs: Counter[tuple[str, str]] = Counter()
    for hunk in file.hunks:
        gone = [line.text for line in hunk.lines if line.mark == "-"]
        come = [line.text for line in hunk.lines if line.mark == "+"]
        if len(gone) != len(come) or len(gone) > 20:
            return None
        for old, new in zip(gone, come, strict=True):
            pair = _turned(old, new)
            if pair is None:
                return None
            pairs[pair] += 1
    return next(iter(pairs)) if len(pairs) == 1 else None


def _turned(old: str, new: str) -> tuple[str, str] | None:
    if max(len(old), len(new)) > _LONG or _SECRET_LINE.search(old) or _SECRET_LINE.search(new):
        return None
    before, after = _WORD.findall(old), _WORD.findall(new)
    steps = [step for step in SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if step[0] != "equal"]
    if len(steps) != 1 or steps[0][0] != "replace":
        return None
    _, left, left_end, right, right_end = steps[0]
    if left_end - left != 1 or right_end - right != 1 or _KEY.match(before[left]) or _KEY.match(after[right]):
        return None
    return before[left], after[right]


def salient(file: FileChange, mark: str) -> tuple[str, ...]:
    """Words that only this side has ("+" or "-"): names first, then frequent and longer ones."""
    sides: dict[str, Counter[str]] = {"+": Counter(), "-": Counter(), " ": Counter()}
    for line in lines_of(file):
        if not _SECRET_LINE.search(line.text[:_LONG]):
            sides[line.mark].update(_WORD.findall(line.text[:_LONG]))
    other = "-" if mark == "+" else "+"
    words = [word for word in sides[mark] if word not in sides[other] and _tells(word)]
    new = [word for word in words if word not in sides[" "]]
    return tuple(sorted(new or words, key=lambda word: (-_rank(word), -sides[mark][word], -len(word), word)))


def _tells(word: str) -> bool:
    return 3 <= len(word) <= 36 and word.lower() not in _COMMON and not _KEY.match(word)


def _rank(word: str) -> int:
    """Names of code, then words with a capital or a digit, then others."""
    if "_" in word.strip("_") or re.search(r"[a-z][A-Z]|\w[@:]", word):
        return 2
    return int(bool(re.search(r"[A-Z0-9.-]", word)))
