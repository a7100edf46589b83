"""The patterns of a search: a text or words, without case and accents, or a regular expression with bounded work."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import regex

from context_protection.core.budget import dumps
from context_protection.core.errors import InvalidArgument
from context_protection.core.folding import fold_for_search

MAX_PATTERN_CHARS = 500
SECONDS = 2.0  # how long one search may take
WINDOW, OVERLAP = 20_000, 1_000  # characters of a long text that a regex sees at a time, and that two windows share
AHEAD = 100  # characters after a match that a regex may look at
MAX_STEPS = 20_000  # steps of a pattern after each {n} is expanded
# Recursion takes unbounded memory; verbose mode (x) hides repetitions from _steps.
_REJECTED = regex.compile(r"\(\?(?:R|[+-]?\d+|&|P>)|\(\?[\w-]*x")
_STEP = regex.compile(r"\\.|[()]|\{(?P<times>\d{1,9})|.", regex.DOTALL)


class Finder(Protocol):
    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        """The start and end of the first match, or None. Raises TimeoutError after `seconds`."""


class WindowFinder(Finder, Protocol):
    """Finds the match in the windows of one long line, one after the other."""

    def at_end(self) -> Finder:
        """Finds the match in the last window."""


class Pattern(Finder, Protocol):
    def in_windows(self) -> WindowFinder:
        """The finder for one long line."""

    def rules_out(self, text: str) -> bool:
        """True if a cheap test shows that no part of `text` matches; False if it cannot tell."""

    def rules_out_json(self, text: str) -> bool:
        """Like `rules_out`, for a value whose JSON is `text`."""


def pattern(text: str | None = None, expression: str | None = None) -> Pattern:
    """The pattern for `text`, without case and accents, or for the regular `expression`. Raises InvalidArgument unless
    exactly one of them is given and valid."""
    if (text is None) == (expression is None):
        advice = "Set text to a word." if text is None else "Leave regex out."
        raise invalid("text", text, "Give either text or regex.", "one of text and regex", advice)
    if text is not None:
        return _plain("text", text, [text])
    assert expression is not None
    return _Regex(compiled(expression))


def words(text: str, parameter: str) -> Pattern:
    """The pattern for texts that contain all words of `text`, in any order. Raises InvalidArgument if `text` is too
    long, or has no word."""
    return _plain(parameter, text, text.split())


def _plain(parameter: str, text: str, needles: Sequence[str]) -> "_Plain":
    _check_length(parameter, text)
    folded = {fold_for_search(each): _json_text(each) for each in sorted(needles, key=len, reverse=True)}
    folded.pop("", None)
    if not folded:
        raise invalid(parameter, text, f"{parameter} has no word.", "a word", f"Set {parameter} to a word.")
    return _Plain(
        fold_for_search(text.strip()) if len(folded) > 1 else next(iter(folded)), tuple(folded), tuple(folded.values())
    )


def _check_length(parameter: str, value: str) -> None:
    if not 0 < len(value) <= MAX_PATTERN_CHARS:
        expected = f"1 to {MAX_PATTERN_CHARS} characters"
        advice = "Search for less." if value else f"Set {parameter} to a word."
        raise invalid(parameter, value, f"{parameter} has {len(value)} characters.", expected, advice)


def compiled(expression: str, *, is_multiline: bool = False, ignores_case: bool = False) -> Any:
    """The expression, if its memory is bounded. Its searches take a `timeout`. `is_multiline`: ^ and $ match at each
    line. Raises InvalidArgument."""
    _check_length("regex", expression)
    if _REJECTED.search(expression):
        message = "regex uses recursion or verbose mode, which are not supported."
        raise invalid(
            "regex",
            expression,
            message,
            "a plain regular expression",
            "Use repetition instead of recursion, and leave (?x) out.",
        )
    if _steps(expression) > MAX_STEPS:
        expected = f"at most {MAX_STEPS:,} steps once every {{n}} is expanded"
        raise invalid("regex", expression, "regex has too many repetitions.", expected, "Use + or * for large counts.")
    try:
        return regex.compile(expression, regex.MULTILINE * is_multiline | regex.IGNORECASE * ignores_case)
    except regex.error as error:
        place = "" if error.pos is None else f" at character {error.pos + 1}"
        message = f"regex is not valid: {error.msg}{place}."
    except (ValueError, OverflowError, RecursionError, KeyError, IndexError, TypeError):
        message = "regex is not valid."
    suggestion = f"Set regex to {regex.escape(expression)}, or correct it."
    raise invalid("regex", expression, message, "a regular expression in Python's syntax", suggestion)


def _steps(expression: str) -> int:
    """An upper bound for the steps of the pattern after each {n} is expanded. The regex engine expands it, so nested
    repetitions take unbounded memory. Character classes in brackets are not parsed, which can only raise the bound."""
    groups, last = [0], 0
    for step in _STEP.finditer(expression):
        times = min(int(step["times"] or 1), MAX_STEPS + 1)
        if step[0] == "(":
            groups.append(0)
            last = 0
        elif step["times"]:
            groups[-1] += last * max(times - 1, 0)
            last *= max(times, 1)
        else:
            last = 1 + (0 if step[0] != ")" else groups.pop() if len(groups) > 1 else groups[0])
            groups[-1] += last
    return sum(groups)


@dataclass(frozen=True, slots=True)
class _Plain:
    """Matches a text that contains all needles anywhere. The match is the whole phrase if the text has it, else the
    first needle. All are folded. `in_json`: each needle as JSON writes it in a string; None if it cannot."""

    phrase: str
    needles: tuple[str, ...]
    in_json: tuple[str | None, ...]

    def rules_out(self, text: str) -> bool:
        folded = fold_for_search(text)
        return any(needle not in folded for needle in self.needles)

    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        folded = fold_for_search(text)
        if any(needle not in folded for needle in self.needles):
            return None
        return _span(text, folded, self.phrase if self.phrase in folded else self.needles[0])

    def in_windows(self) -> "_PlainInWindows":
        return _PlainInWindows(self)

    def rules_out_json(self, text: str) -> bool:
        folded = fold_for_search(text)
        return any(needle is not None and needle not in folded for needle in self.in_json)


class _PlainInWindows:
    """Matches in the window in which the last missing needle occurs; the others may be in earlier windows."""

    def __init__(self, plain: _Plain) -> None:
        self._plain, self._missing = plain, set(plain.needles)

    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        if span := self._plain.find(text, seconds):
            return span
        folded = fold_for_search(text)
        found = {needle for needle in self._missing if needle in folded}
        self._missing -= found
        return None if self._missing or not found else _span(text, folded, max(found, key=len))

    def at_end(self) -> Finder:
        return self


def _span(text: str, folded: str, needle: str) -> tuple[int, int]:
    """The start and end in `text` of the first `needle` in `folded`, which is the folded text."""
    start = folded.index(needle)
    end = start + len(needle)
    return (start, end) if text.isascii() else (_unfolded(text, start), _unfolded(text, end - 1) + 1)


def _json_text(text: str) -> str | None:
    try:
        return fold_for_search(dumps(text)[1:-1].decode())
    except TypeError:  # lone surrogates
        return None


def _unfolded(text: str, index: int) -> int:
    """The index in `text` of the character at `index` of the folded text: folding turns some characters into none, two
    or three."""
    for place, character in enumerate(text):
        index -= len(fold_for_search(character))
        if index < 0:
            return place
    return len(text)


@dataclass(frozen=True, slots=True)
class _Regex:
    compiled: Any

    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        return _search_in_windows(self.compiled, text, seconds)

    def in_windows(self) -> "_RegexInWindows":
        return _RegexInWindows(self.compiled)

    def rules_out(self, text: str) -> bool:
        return False

    def rules_out_json(self, text: str) -> bool:
        return False


class _RegexInWindows:
    """The windows overlap, so all but the first begin after the first character of their text: only there can ^ not
    match."""

    def __init__(self, compiled: Any, start: int = 0, *, ends: bool = False) -> None:
        self._compiled, self._start, self._ends = compiled, start, ends

    def find(self, text: str, seconds: float) -> tuple[int, int] | None:
        start, self._start = self._start, 1
        return _search_in_windows(self._compiled, text, seconds, start=start, ends=self._ends)

    def at_end(self) -> Finder:
        return _RegexInWindows(self._compiled, self._start, ends=True)


def _search_in_windows(
    compiled: Any, text: str, seconds: float, *, start: int = 0, ends: bool = True
) -> tuple[int, int] | None:
    """The first match from `start` on. `ends`: the text ends there. A match near the end of a window is left to the
    next window if that has all of it, because $ or (?!…) may have matched where the text is only cut."""
    deadline = time.monotonic() + seconds
    for begin in range(start, max(len(text) - OVERLAP, start + 1), WINDOW - OVERLAP):
        end = min(begin + WINDOW, len(text))
        try:
            match = compiled.search(text, begin, end, timeout=max(deadline - time.monotonic(), 0.001))
        except MemoryError:  # a search with this much backtracking would time out anyway
            raise TimeoutError from None
        is_last = ends and end == len(text)
        if match and (is_last or match.end() <= end - AHEAD or match.start() <= end - OVERLAP):
            return match.start(), match.end()
    return None


def invalid(parameter: str, value: Any, message: str, expected: str, suggestion: str) -> InvalidArgument:
    return InvalidArgument(
        message,
        reason=f"invalid_{parameter}",
        parameter=parameter,
        value=value,
        expected=expected,
        suggestion=suggestion,
    )
