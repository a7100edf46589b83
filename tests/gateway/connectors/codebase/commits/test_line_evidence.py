"""What the lines of a change tell about its kind."""

import pytest

from gateway.connectors.codebase.commits.line_evidence import differing_words, is_typo, of_hunks
from gateway.connectors.codebase.commits.type_evidence import evidence_of
from gateway.connectors.codebase.git.changes import ChangeKind, FileChange, Hunk
from tests.gateway.connectors.codebase.commits.test_facts import changed


def found(path: str, old: str, new: str) -> set[str]:
    return set(evidence_of(changed({path: (old, new)})))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "def f(a):\n    return a\n",
            "def f(a):\n    if not a:\n        return 0\n    return a\n",
            "leaving guard added",
        ),
        ("if a:\n    b()\n", "if a and c:\n    b()\n", "condition changed"),
        ('say("one")\n', 'say("two")\n', "text changed"),
        ("a = wait(one)\n", "a = wait(two)\n", "one word changed"),
        ("# the adress of it\n", "# the address of it\n", "typo"),
        ("a = 1\n", "a = 20\n", "numbers changed"),
        ("f(a)\n", "f(a, b)\n", "line made longer"),
    ],
)
def test_a_line_of_source_tells_how_it_changed(old: str, new: str, expected: str) -> None:
    assert expected in found("src/a.py", old, new)
    assert expected not in found("src/a.py", "", "x()\n")


def test_other_files_tell_of_typos_versions_and_notes() -> None:
    assert "typo outside of source" in found("docs/a.md", "an adress\n", "an address\n")
    assert "own version" in found("package.json", '  "version": "1.2.0",\n', '  "version": "1.3.0",\n')
    assert "notes on changes" in found("CHANGELOG.md", "a\n", "a\nb\n")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [("adress", "address", True), ("recieve", "receive", True), ("cat", "car", False), ("open", "close", False)],
)
def test_a_typo_is_a_letter_or_two(old: str, new: str, expected: bool) -> None:
    assert is_typo(old, new) is expected


def test_lines_of_different_length_have_no_pairs_of_words() -> None:
    assert differing_words("a b", "a b c") == []
    assert differing_words("a b", "a c") == [("b", "c")]


def test_a_hunk_that_is_cut_before_its_first_line_tells_little() -> None:
    cut = FileChange("a.py", None, ChangeKind.MODIFIED, (Hunk(1, 1, "", ()),), cut=True)
    assert set(of_hunks([cut])) >= {"hunks about 1"}
