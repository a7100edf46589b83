"""What is read from the lines of small diffs: definitions, moves, dependencies, and what breaks callers."""

from difflib import unified_diff

import pytest

from gateway.connectors.codebase.commits.dependencies import DependencyChange
from gateway.connectors.codebase.commits.diff_text import read_diff
from gateway.connectors.codebase.commits.facts import ChangeFacts, facts_of


def changed(files: dict[str, tuple[str, str]]) -> ChangeFacts:
    text = "".join(
        "\n".join(unified_diff(old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="")) + "\n"
        for path, (old, new) in files.items()
    )
    return facts_of(read_diff(text))


@pytest.mark.parametrize(
    ("path", "old", "new", "breaks"),
    [
        ("a.py", "def old(a):\n    pass\n", "def new(a):\n    pass\n", True),
        ("a.py", "    def _old(self):\n", "    def _new(self):\n", False),
        ("a.ts", "export function old(a: string) {\n", "export function new1(a: string) {\n", True),
        ("a.ts", "class old extends B {\n", "class new1 extends B {\n", False),
        ("a.go", "func Old(a int) {\n", "func New(a int) {\n", True),
        ("a.rs", "pub fn old() -> u8 {\n", "pub fn new1() -> u8 {\n", True),
        ("A.java", "  public int old(int a) {\n", "  public int new1(int a) {\n", True),
        ("a.rb", "  def old?\n", "  def new?\n", False),
        ("a.c", "static int old(int a)\n", "static int new1(int a)\n", False),
    ],
)
def test_a_renamed_definition(path: str, old: str, new: str, breaks: bool) -> None:
    (file,) = changed({path: (old, new)}).files
    ((gone, come),) = file.renamed
    assert gone in old
    assert come in new
    assert (file.added, file.removed) == ((), ())
    assert bool(file.broken) is breaks


def test_added_removed_changed_and_bodies() -> None:
    old = "def kept(a):\n    return a\n\ndef gone(x, y):\n    pass\n\ndef body():\n    one\n"
    new = "def kept(a, b):\n    return a\n\nclass Come:\n    pass\n\ndef body():\n    two\n"
    (file,) = changed({"a.py": (old, new)}).files
    assert (file.added, file.removed, file.changed, file.inside) == (("Come",), ("gone",), ("kept",), ("body",))
    assert file.broken == ("gone",)


def test_a_moved_definition_breaks_nobody() -> None:
    text = "def moved(a):\n    return a + 1_000_000\n"
    facts = changed({"a.py": (text, "\n"), "b.py": ("\n", text)})
    assert facts.moved == 1
    assert [file.broken for file in facts.files] == [(), ()]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("package.json", '    "left-pad": "^1.2.0",\n', '    "left-pad": "^1.3.0",\n'),
        ("go.mod", "\tgithub.com/a/left-pad v1.2.0\n", "\tgithub.com/a/left-pad v1.3.0\n"),
        ("Cargo.toml", 'left-pad = { version = "1.2.0" }\n', 'left-pad = { version = "1.3.0" }\n'),
        ("requirements.txt", "left-pad==1.2.0\n", "left-pad==1.3.0\n"),
        ("pyproject.toml", '  "left-pad>=1.2.0",\n', '  "left-pad>=1.3.0",\n'),
        ("Gemfile", 'gem "left-pad", "~> 1.2.0"\n', 'gem "left-pad", "~> 1.3.0"\n'),
    ],
)
def test_versions_of_dependencies(path: str, old: str, new: str) -> None:
    (found,) = changed({path: (old, new)}).dependencies
    assert isinstance(found, DependencyChange)
    assert found.name.endswith("left-pad")
    assert "1.2.0" in str(found.old)
    assert "1.3.0" in str(found.new)
