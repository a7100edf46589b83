"""Definitions and their lines, in every language that is parsed, and in those that are not."""

import pytest

from gateway.connectors.codebase.index.symbols import LARGEST_PARSED, MOST, Symbol, symbols_of

SOURCES = {
    "a.py": (
        "LIMIT = 3\n\nclass Cache:\n    async def get(self):\n        pass\n",
        [("LIMIT", "constant", 1, 1), ("Cache", "class", 3, 5), ("get", "function", 4, 5)],
    ),
    "a.js": (
        "class A {\n  run() {\n  }\n}\nconst f = () => 1\nexport const B = 2\n",
        [("A", "class", 1, 4), ("run", "function", 2, 3), ("f", "function", 5, 5), ("B", "constant", 6, 6)],
    ),
    "a.ts": (
        "interface A {\n}\ntype B = string\nenum C { D }\nabstract class E {}\n",
        [("A", "type", 1, 2), ("B", "type", 3, 3), ("C", "type", 4, 4), ("E", "class", 5, 5)],
    ),
    "a.tsx": ("function View() {\n  return <p/>\n}\n", [("View", "function", 1, 3)]),
    "a.go": (
        "package a\ntype T struct {\n}\nfunc (t *T) Run() {\n}\nfunc main() {}\n",
        [("T", "type", 2, 3), ("Run", "function", 4, 5), ("main", "function", 6, 6)],
    ),
    "a.rs": (
        "struct S;\nimpl S {\n  fn new() {}\n}\nmacro_rules! m { () => {} }\n",
        [("S", "type", 1, 1), ("S", "type", 2, 4), ("new", "function", 3, 3), ("m", "function", 5, 5)],
    ),
    "A.java": (
        "class A {\n  A() {}\n  void run() {\n  }\n}\nenum B {}\n",
        [("A", "class", 1, 5), ("A", "function", 2, 2), ("run", "function", 3, 4), ("B", "type", 6, 6)],
    ),
    "a.rb": (
        "module M\n  class A\n    def self.run\n    end\n  end\nend\n",
        [("M", "module", 1, 6), ("A", "class", 2, 5), ("run", "function", 3, 4)],
    ),
    "a.c": (
        "#define MAX 3\nstruct s { int x; };\nint *f(int a) {\n  return 0;\n}\n",
        [("MAX", "constant", 1, 1), ("s", "type", 2, 2), ("f", "function", 3, 5)],
    ),
    "a.cpp": (
        "namespace n {\nclass A {};\nvoid A::run() {\n}\n}\n",
        [("n", "module", 1, 5), ("A", "class", 2, 2), ("A::run", "function", 3, 4)],
    ),
    "a.kt": (
        "data class A(\n)\nprivate fun run() {\n}\n",
        [("A", "class", 1, 2), ("run", "function", 3, 4)],
    ),
    "plain.sh": ("echo 1\n", []),
    "notes.txt": ("class A\n", []),
    "empty.py": ("", []),
}


@pytest.mark.parametrize("path", SOURCES)
def test_definitions_have_their_lines(path: str):
    source, expected = SOURCES[path]
    assert symbols_of(path, source.encode()) == [Symbol(*symbol) for symbol in expected]


def test_definitions_on_the_same_lines_have_an_order():
    content = b"".join(b"export const name_%d = () => 1\n" % number for number in range(20))
    assert [each.kind for each in symbols_of("a.ts", content)] == ["constant", "function"] * 20


def test_a_file_with_errors_gives_what_was_recognised():
    assert Symbol("a", "function", 1, 2) in symbols_of("a.py", b"def a():\n    pass\n\ndef (:\n\xff\xfe")


def test_a_large_file_is_read_by_patterns_and_bounded():
    source = b"def a():\n    pass\n" * (LARGEST_PARSED // 18 + 1)
    symbols = symbols_of("a.py", source)
    assert len(symbols) == MOST
    assert symbols[1] == Symbol("a", "function", 3, 4)
