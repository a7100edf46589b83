"""No regular expression for `re` has possessive quantifiers or atomic groups. Before Python 3.11.5, which Debian 12
does not have, `re` matches some of them wrongly (gh-106052): the count of tokens was off, and nothing failed loudly.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("gateway", "context_protection", "telemetry", "benchmarks")
# Strings that only look like it: the characters that stay as they are in the path of a URL.
NO_PATTERNS = {"/:@!$&'()*+,;=-._~%"}


def literals(source: str) -> Iterator[tuple[int, str]]:
    """The line and the text of every string. What an f-string inserts is not known here: a character stands for it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
        elif isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values),
            )


def is_possessive(text: str) -> bool:
    """Whether the text, read as a regular expression, has what `re` gets wrong. Most strings are none, or harmless."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            parsed = str(re._parser.parse(text, re.VERBOSE))  # type: ignore[attr-defined]
        except (re.error, OverflowError):
            return False
    return "POSSESSIVE_REPEAT" in parsed or "ATOMIC_GROUP" in parsed


def possessive(source: str) -> list[int]:
    """Lines of strings with possessive quantifiers or atomic groups, in a module that uses `re`."""
    if not re.search(r"^(import re|from re import .*)$", source, re.MULTILINE):
        return []
    return sorted({line for line, text in literals(source) if text not in NO_PATTERNS and is_possessive(text)})


@pytest.mark.parametrize("package", PACKAGES)
def test_no_pattern_is_possessive(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    found = {str(path.relative_to(ROOT)): possessive(path.read_text()) for path in paths}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r'r"a++"',
        r'r"[a-z]*+"',
        r'r"(?>ab|a)"',
        r'rf"(?:{sign}{{1,16}}+ ){{0,3}}+"',
        'rf"""\n  {letter}\n| (?:{space}?+)\n"""',
    ],
)
def test_a_possessive_pattern_is_found(pattern: str) -> None:
    assert possessive(f"import re\n\nWORD = re.compile({pattern})\n") == [3]


@pytest.mark.parametrize("pattern", [r'r"[*+?]+"', r'r"a+\+"', r'r"\++"', r'rf"(?:{sign}{{1,16}} ){{0,3}}"'])
def test_a_plus_that_is_not_possessive_is_let_through(pattern: str) -> None:
    assert possessive(f"import re\n\nWORD = re.compile({pattern})\n") == []
