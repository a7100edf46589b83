"""The kind of a change, as its notes for the changelog state it."""

import pytest

from gateway.connectors.codebase.commits.change_notes import is_note, noted_kind
from tests.gateway.connectors.codebase.commits.test_facts import changed

CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Fixed\n\n- Old words\n"


def kind_said(path: str, new: str, old: str = "") -> str:
    return noted_kind(file.change for file in changed({path: (old, new)}).files)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("CHANGELOG.md", True),
        ("packages/core/CHANGES", True),
        ("newsfragments/12.bugfix", True),
        (".changeset/odd-cats.md", True),
        ("changes/unreleased/Fixed-12.yaml", True),
        (".github/workflows/release.yml", False),
        ("scripts/release.ts", False),
        ("src/History.vue", False),
        ("src/changes/set.py", False),
        ("tests/changes/input.md", False),
    ],
)
def test_notes_are_prose(path: str, expected: bool) -> None:
    assert is_note(path) is expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("newsfragments/12.bugfix.rst", "Words\n", "fix"),
        ("changes/ce/feat-12.md", "Words\n", "feat"),
        (".changes/a.md", '---\n"core": "patch:bug"\n---\n', "fix"),
        (".changeset/a.md", "---\n'core': minor\n---\n\nWords\n", "feat"),
        ("changes/unreleased/a.yaml", "kind: Fixed\nbody: Words\n", "fix"),
        ("docs/changelog.rst", ".. change:: Words\n    :type: feature\n", "feat"),
        ("CHANGES.md", "* **Added** a parser\n", "feat"),
        ("CHANGES.md", "* Addresses are words\n", ""),
        ("CHANGES.md", "- Fixed the parser\n- Added a parser\n", ""),
        ("CHANGES.md", "## [1.2.0] - 2026-01-02\n\n- Fixed the parser\n", "release"),
        ("src/notes.md", "Fixed the parser\n", ""),
    ],
)
def test_a_note_says_what_a_change_is(path: str, text: str, expected: str) -> None:
    assert kind_said(path, text) == expected


def test_the_heading_above_a_new_line_says_what_it_is() -> None:
    assert kind_said("CHANGELOG.md", CHANGELOG + "- Add what was missing\n", CHANGELOG) == "fix"
    assert kind_said("CHANGELOG.md", CHANGELOG + "\n### Removed\n\n- Words\n", CHANGELOG) == ""


def test_lines_that_a_note_loses_say_nothing() -> None:
    assert kind_said("CHANGELOG.md", CHANGELOG, CHANGELOG + "- Fixed the parser\n") == ""
